#include "eval/free_running.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "base/signals.h"
#include "eval/batches.h"
#include "eval/define.h"

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

// Where answers come one place after another, the more examples go together the better; their keys and values
// are kept meanwhile.
int64_t answers_at_once(const Decoder& model, int64_t length) {
  const int64_t numbers = model.device().is_cuda() ? 1 << 30 : 1 << 26;
  return std::max<int64_t>(1,
                           std::min(4 * examples_at_once(model, length),
                                    numbers / (2 * model.config().n_layers * model.config().dim * length)));
}

}  // namespace

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

// The first data.free_running examples of each test, the model reading its own answers.
class FreeRunning {
 public:
  static constexpr Evaluation::Traits traits{.name = "free_running",
                                             .summary = "answers of a task, the model reading its own",
                                             .needs = Need::task | Need::own_answers,
                                             .ends_a_run = true};

  static std::vector<Metric> metrics(const Dataset&) {
    return {{.name = "free_running",
             .title = "free running",
             .unit = std::string(kShare),
             .meaning = "share of an answer's tokens that are right, the model reading its own answer"}};
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    for (const TestLength& test : data.tests)
      in_batches(model, *test.set, answers_at_once(model, test.multiple * model.config().max_seqlen),
                 std::min(data.free_running, test.set->size()), [&](const Batch& batch, int64_t first) {
                   const Tensor right = free_running(model, batch) == batch.targets;
                   emit_all(emit, "free_running", test, first, mean_by_example(right, batch), batch);
                 });
  }
};

template Evaluation evaluation_of<FreeRunning>();

}  // namespace darope
