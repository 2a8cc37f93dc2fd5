#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>

#include "eval/batches.h"
#include "eval/define.h"

namespace darope {

// The likeliest symbol at every place of an answer, the right ones standing before it.
class Answers {
 public:
  static constexpr Evaluation::Traits traits{.name = "answers",
                                             .summary = "answers of a task, with the right ones before each",
                                             .needs = Need::task,
                                             .ends_a_run = true};

  static std::vector<Metric> metrics(const Dataset& data) {
    Metric tokens{.name = "token_accuracy",
                  .title = "token accuracy",
                  .unit = std::string(kShare),
                  .meaning = "share of an answer's tokens that are right, reading the right ones before each",
                  .chance = data.chance,
                  .true_chance = data.true_chance};
    for (const TestLength& test : data.tests) tokens.floor[double(test.multiple)] = test.best_constant;
    return {tokens,
            {.name = "exact_match",
             .title = "exact match",
             .unit = std::string(kYesOrNo),
             .meaning = "whether the whole answer is right"}};
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    over_tests(model, data, [&](const Batch& batch, const TestLength& test, int64_t first) {
      const Tensor right =
          at::argmax(model.logits(model.hidden(batch.tokens, batch.rows)), -1) == batch.targets;
      const Tensor accuracy = mean_by_example(right, batch);
      emit_all(emit, "token_accuracy", test, first, accuracy, batch);
      emit_all(emit, "exact_match", test, first, (accuracy == 1).to(at::kDouble), batch);
    });
  }
};

template Evaluation evaluation_of<Answers>();
}  // namespace darope
