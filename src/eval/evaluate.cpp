#include "eval/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>

#include <algorithm>

#include "base/signals.h"

namespace darope {
namespace {

int64_t examples_at_once(const Decoder& model, int64_t length) {
  const int64_t tokens = model.device().is_cuda() ? 65536 : 8192;
  return std::max<int64_t>(1, tokens / length);
}

// The weighted mean over each example's scored tokens: [count], on the CPU.
Tensor mean_by_example(const Tensor& values, const Tensor& weight, int64_t count) {
  return ((values.to(at::kDouble) * weight).view({count, -1}).sum(1) / weight.view({count, -1}).sum(1)).cpu();
}

void emit_all(const Emit& emit, std::string_view metric, int64_t multiple, int64_t first, const Tensor& values) {
  for (int64_t i = 0; i < values.size(0); ++i) emit({metric, multiple, first + i, values[i].item<double>()});
}

void score_batch(Decoder& model, Measure measure, const Batch& batch, int64_t multiple, int64_t first, const Emit& emit) {
  const int64_t count = batch.tokens.size(0);
  if (measure == Measure::nll) return emit_all(emit, "nll", multiple, first, mean_by_example(model.nll(batch), batch.weight, count));
  const Tensor right = at::argmax(model.logits(model.hidden(batch.tokens, batch.rows)), -1) == batch.targets;
  const Tensor accuracy = mean_by_example(right, batch.weight, count);
  emit_all(emit, "token_accuracy", multiple, first, accuracy);
  emit_all(emit, "exact_match", multiple, first, (accuracy == 1).to(at::kDouble));
}

}  // namespace

void evaluate(Decoder& model, const Dataset& data, const Emit& emit) {
  const at::NoGradGuard no_grad;
  model.refresh();
  for (const TestLength& test : data.tests) {
    const int64_t at_once = examples_at_once(model, test.multiple * model.config().max_seqlen);
    for (int64_t first = 0; first < test.set->size(); first += at_once) {
      throw_if_stopped();
      const Batch batch = test.set->read(first, std::min(at_once, test.set->size() - first)).to(model.device());
      score_batch(model, data.measure, batch, test.multiple, first, emit);
    }
  }
}

double mean_nll(Decoder& model, const TestSet& set) {
  const at::NoGradGuard no_grad;
  model.refresh();
  const int64_t at_once = examples_at_once(model, model.config().max_seqlen);
  double sum = 0;
  for (int64_t first = 0; first < set.size(); first += at_once) {
    throw_if_stopped();
    const int64_t count = std::min(at_once, set.size() - first);
    const Batch batch = set.read(first, count).to(model.device());
    sum += mean_by_example(model.nll(batch), batch.weight, count).sum().item<double>();
  }
  return sum / double(set.size());
}

}  // namespace darope
