#include "eval/generate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>

#include "base/error.h"
#include "base/random.h"

namespace darope {
namespace {

// One token by its probability, from the draw of its place alone.
int64_t draw(const Tensor& logits, const Sampling& sampling, int64_t place) {
  if (sampling.temperature == 0) return at::argmax(logits).item<int64_t>();
  const int64_t kept = sampling.top_k > 0 ? std::min(sampling.top_k, logits.numel()) : logits.numel();
  const auto [values, ids] = at::topk(logits.to(at::kDouble).cpu(), kept);
  const Tensor shares = at::softmax(values / sampling.temperature, 0);
  double left = Random(sampling.seed, "sample", uint64_t(place)).uniform();
  for (int64_t i = 0; i < kept; ++i)
    if ((left -= shares.const_data_ptr<double>()[i]) < 0) return ids.const_data_ptr<int64_t>()[i];
  return ids.const_data_ptr<int64_t>()[0];
}

}  // namespace

void generate(Decoder& model, const std::vector<int64_t>& prompt, const Sampling& sampling,
              const std::function<bool(int64_t)>& emit) {
  if (prompt.empty()) throw Error("the prompt is empty: give at least one token to begin from");
  const at::NoGradGuard no_grad;
  Cache cache{.capacity = int64_t(prompt.size()) + sampling.tokens};
  const auto row = [&](const std::vector<int64_t>& tokens) {
    return at::tensor(tokens, at::kLong).unsqueeze(0).to(model.device());
  };
  Tensor logits = model.next(row(prompt), cache);
  for (int64_t i = 0; i < sampling.tokens; ++i) {
    const int64_t token = draw(logits[0], sampling, i);
    if (!emit(token) || i + 1 == sampling.tokens) return;
    logits = model.next(row({token}), cache);
  }
}

}  // namespace darope
