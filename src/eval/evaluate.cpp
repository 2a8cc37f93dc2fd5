#include "eval/evaluate.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>

#include <algorithm>

#include "base/json.h"
#include "base/signals.h"
#include "eval/free_running.h"

namespace darope {
namespace {

// Where answers come one place after another, the more examples go together the better; their keys and values
// are kept meanwhile.
int64_t answers_at_once(const Decoder& model, int64_t length) {
  const int64_t numbers = model.device().is_cuda() ? 1 << 30 : 1 << 26;
  return std::max<int64_t>(1,
                           std::min(4 * examples_at_once(model, length),
                                    numbers / (2 * model.config().n_layers * model.config().dim * length)));
}

// Of each example: its scored tokens, and their mean. [count], on the CPU.
Tensor tokens_by_example(const Batch& batch) {
  return batch.weight.to(at::kDouble).view({batch.tokens.size(0), -1}).sum(1).cpu();
}
Tensor mean_by_example(const Tensor& values, const Batch& batch) {
  return (values.to(at::kDouble) * batch.weight).view({batch.tokens.size(0), -1}).sum(1).cpu() /
         tokens_by_example(batch);
}

void emit_all(const Emit& emit, std::string_view metric, int64_t multiple, int64_t first,
              const Tensor& values, const Batch& batch) {
  const Tensor tokens = tokens_by_example(batch);
  for (int64_t i = 0; i < values.size(0); ++i)
    emit({metric, multiple, first + i, values[i].item<double>(), int64_t(tokens[i].item<double>())});
}

void score_batch(Decoder& model, Measure measure, const Batch& batch, int64_t multiple, int64_t first,
                 const Emit& emit) {
  if (measure == Measure::nll)
    return emit_all(emit, "nll", multiple, first, mean_by_example(model.nll(batch), batch), batch);
  const Tensor right = at::argmax(model.logits(model.hidden(batch.tokens, batch.rows)), -1) == batch.targets;
  const Tensor accuracy = mean_by_example(right, batch);
  emit_all(emit, "token_accuracy", multiple, first, accuracy, batch);
  emit_all(emit, "exact_match", multiple, first, (accuracy == 1).to(at::kDouble), batch);
}

// Calls use(batch, first) with the first `count` examples of a set, `at_once` at a time.
template <class Use>
void in_batches(const Decoder& model, const TestSet& set, int64_t at_once, int64_t count, const Use& use) {
  for (int64_t first = 0; first < count; first += at_once) {
    throw_if_stopped();
    use(set.read(first, std::min(at_once, count - first)).to(model.device()), first);
  }
}

// Hands on every score, and those of the examples without unknown bases twice.
Emit with_n_free(const Emit& emit, const TestLength& test) {
  return [&](const Score& score) {
    emit(score);
    const auto found = std::lower_bound(test.n_free.begin(), test.n_free.end(), score.example);
    if (found == test.n_free.end() || *found != score.example) return;
    emit({"nll_n_free", score.x, found - test.n_free.begin(), score.value, score.tokens});
  };
}

}  // namespace

std::string to_line(const Score& s) {
  return nlohmann::ordered_json{{"metric", s.metric},
                                {"x", s.x},
                                {"example", s.example},
                                {"value", s.value},
                                {"tokens", s.tokens}}
             .dump() +
         "\n";
}

void evaluate(Decoder& model, const Dataset& data, const Emit& emit) {
  const at::NoGradGuard no_grad;
  model.refresh();
  for (const TestLength& test : data.tests) {
    const int64_t length = test.multiple * model.config().max_seqlen;
    in_batches(model, *test.set, examples_at_once(model, length), test.set->size(),
               [&](const Batch& batch, int64_t first) {
                 score_batch(model, data.measure, batch, test.multiple, first, with_n_free(emit, test));
               });
    in_batches(model, *test.set, answers_at_once(model, length),
               std::min(data.free_running, test.set->size()), [&](const Batch& batch, int64_t first) {
                 emit_all(emit, "free_running", test.multiple, first,
                          mean_by_example(free_running(model, batch) == batch.targets, batch), batch);
               });
  }
}

double mean_nll(Decoder& model, const TestSet& set) {
  const at::NoGradGuard no_grad;
  model.refresh();
  double sum = 0;
  in_batches(model, set, examples_at_once(model, model.config().max_seqlen), set.size(),
             [&](const Batch& batch, int64_t) {
               sum += mean_by_example(model.nll(batch), batch).sum().item<double>();
             });
  return sum / double(set.size());
}

}  // namespace darope
