#include "eval/free_running.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "base/signals.h"

namespace darope {
namespace {

// Every pass replaces all answers by what the model says after the ones it gave before. A token is final once
// those before it are, so the k-th is final after k passes at the latest, and an answer that a pass leaves
// alone is what one token at a time would give.
Tensor by_passes(Decoder& model, const Batch& batch) {
  const int64_t count = batch.tokens.size(0), length = batch.tokens.size(1);
  const Tensor before = batch.rows.view({count, -1}).remainder(length),
               place = before + 1;  // of each answer token, in its example
  const Tensor scored = batch.weight.view({count, -1}) > 0, tokens = batch.tokens.clone();
  Tensor open = at::arange(count, batch.rows.options());  // examples that still change
  while (open.size(0) > 0) {
    std::vector<Tensor> changed;
    for (const Tensor& some : open.split(examples_at_once(model, length))) {
      throw_if_stopped();
      const Tensor read = tokens.index_select(0, some), where = place.index_select(0, some),
                   said = read.gather(1, where);
      const Tensor rows =
          before.index_select(0, some) + length * at::arange(some.size(0), some.options()).unsqueeze(1);
      const Tensor likeliest = at::argmax(model.logits(model.hidden(read, rows.flatten())), -1).view_as(said);
      const Tensor answer = at::where(scored.index_select(0, some), likeliest, said);
      tokens.index_copy_(0, some, read.scatter(1, where, answer));
      changed.push_back(some.masked_select((answer != said).any(1)));
    }
    open = at::cat(changed);
  }
  return tokens.gather(1, place).flatten();
}

// All examples together, one place at a time, from the shortest prompt's end to the longest answer's; before
// its answer begins, an example reads its prompt. `scored` are the flat places before each answer token.
Tensor with_cache(Decoder& model, const Batch& batch, const Tensor& scored, int64_t first, int64_t last) {
  const Tensor ours = at::zeros_like(batch.tokens, at::kBool), tokens = batch.tokens.clone();
  ours.view(-1).index_fill_(0, scored + 1, true);
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

}  // namespace

int64_t examples_at_once(const Decoder& model, int64_t length) {
  const int64_t tokens = model.device().is_cuda() ? 65536 : 8192;
  return std::max<int64_t>(1, tokens / length);
}

Tensor free_running(Decoder& model, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Tensor scored = batch.rows.masked_select(batch.weight > 0),
               place = scored.remainder(batch.tokens.size(1));
  const int64_t first = place.min().item<int64_t>(), last = place.max().item<int64_t>();
  const int64_t longest = batch.rows.size(0) / batch.tokens.size(0), steps = last - first + 1;
  constexpr int64_t kStepsOfAPass =
      16;  // a step costs a fraction of a pass, less the longer the examples are
  return steps < kStepsOfAPass * longest ? with_cache(model, batch, scored, first, last)
                                         : by_passes(model, batch);
}

}  // namespace darope
