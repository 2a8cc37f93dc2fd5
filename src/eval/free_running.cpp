#include "eval/free_running.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "base/signals.h"

namespace darope {

Tensor free_running(Decoder& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const int64_t length = batch.tokens.size(1);
  const Tensor scored = batch.rows.masked_select(batch.weight > 0), place = scored.remainder(length);      // of the token before each answer token
  const int64_t first = place.min().item<int64_t>(), last = place.max().item<int64_t>();
  const Tensor ours = at::zeros_like(batch.tokens, at::kBool);
  ours.view(-1).index_fill_(0, scored + 1, true);
  const Tensor tokens = batch.tokens.clone();
  Cache cache{.capacity = last + 1};
  Tensor logits = model.next(tokens.narrow(1, 0, first + 1), cache);
  for (int64_t at = first + 1; at <= last + 1; ++at) {
    throw_if_stopped();
    const Tensor column = tokens.select(1, at);
    column.copy_(at::where(ours.select(1, at), at::argmax(logits, -1), column));
    if (at <= last) logits = model.next(column.unsqueeze(1), cache);
  }
  return tokens.view(-1).index_select(0, batch.rows + 1);
}

}  // namespace darope
