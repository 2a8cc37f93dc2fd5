#include "eval/batches.h"

#include <ATen/TensorOperators.h>

namespace darope {

int64_t examples_at_once(const Decoder& model, int64_t length) {
  const int64_t tokens = model.device().is_cuda() ? 65536 : 8192;
  return std::max<int64_t>(1, tokens / length);
}

Tensor tokens_by_example(const Batch& batch) {
  return batch.weight.to(at::kDouble).view({batch.tokens.size(0), -1}).sum(1).cpu();
}

Tensor mean_by_example(const Tensor& values, const Batch& batch) {
  return (values.to(at::kDouble) * batch.weight).view({batch.tokens.size(0), -1}).sum(1).cpu() /
         tokens_by_example(batch);
}

void emit_all(const Emit& emit, std::string_view metric, const TestLength& test, int64_t first,
              const Tensor& values, const Batch& batch) {
  const Tensor tokens = tokens_by_example(batch);
  for (int64_t i = 0; i < values.size(0); ++i)
    emit({.metric = std::string(metric),
          .at = double(test.multiple),
          .example = first + i,
          .cluster = test.set->cluster(first + i),
          .value = values[i].item<double>(),
          .tokens = int64_t(tokens[i].item<double>())});
}

}  // namespace darope
