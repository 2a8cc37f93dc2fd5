#include <algorithm>

#include "eval/baselines.h"
#include "eval/batches.h"
#include "eval/define.h"

namespace darope {

// How likely the test data are, example by example; of a genome, once more for those without unknown bases.
class Likelihood {
 public:
  static constexpr Evaluation::Traits traits{.name = "likelihood",
                                             .summary = "how likely the test data are",
                                             .needs = Need::likelihood,
                                             .ends_a_run = true};

  static std::vector<Metric> metrics(const Dataset& data) {
    std::vector<Metric> all{{.name = "nll",
                             .title = "loss",
                             .unit = std::string(kNats),
                             .meaning = "mean negative log-likelihood of a token",
                             .higher_better = false,
                             .baselines = losses_of_counting(data)}};
    if (std::any_of(data.tests.begin(), data.tests.end(),
                    [](const auto& test) { return !test.n_free.empty(); }))
      all.push_back({.name = "nll_n_free",
                     .title = "loss without N",
                     .unit = std::string(kNats),
                     .meaning = "the loss of windows without unknown bases",
                     .higher_better = false});
    return all;
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    over_tests(model, data, [&](const Batch& batch, const TestLength& test, int64_t first) {
      const auto twice = [&](Score score) {
        emit(score);
        if (!std::binary_search(test.n_free.begin(), test.n_free.end(), score.example)) return;
        score.metric = "nll_n_free";
        emit(score);
      };
      emit_all(twice, "nll", test, first, mean_by_example(model.nll(batch), batch), batch);
    });
  }
};

template Evaluation evaluation_of<Likelihood>();
}  // namespace darope
