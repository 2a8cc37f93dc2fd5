#include "eval/free_running.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/where.h>

#include "base/signals.h"

namespace darope {

Tensor free_running(Decoder& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const int64_t count = batch.tokens.size(0), length = batch.tokens.size(1);
  const Tensor before = batch.rows.view({count, -1}).remainder(length), place = before + 1;      // of each answer token, in its example
  const Tensor scored = batch.weight.view({count, -1}) > 0;
  Tensor tokens = batch.tokens.clone(), open = at::arange(count, batch.rows.options());          // examples that still change
  for (int64_t pass = 0; pass <= place.size(1) && open.size(0) > 0; ++pass) {
    throw_if_stopped();
    const Tensor read = tokens.index_select(0, open), where = place.index_select(0, open), said = read.gather(1, where);
    const Tensor rows = before.index_select(0, open) + length * at::arange(open.size(0), open.options()).unsqueeze(1);
    const Tensor likeliest = at::argmax(model.logits(model.hidden(read, rows.flatten())), -1).view_as(said);
    const Tensor answer = at::where(scored.index_select(0, open), likeliest, said);
    tokens.index_copy_(0, open, read.scatter(1, where, answer));
    open = open.masked_select((answer != said).any(1));
  }
  return tokens.gather(1, place).flatten();
}

}  // namespace darope
