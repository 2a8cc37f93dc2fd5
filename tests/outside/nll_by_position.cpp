#include <ATen/TensorOperators.h>

#include "eval/batches.h"
#include "eval/define.h"

namespace darope {

// The loss at each position of a window, at the training length.
class NllByPosition {
 public:
  static constexpr Evaluation::Traits traits{.name = "nll-by-position",
                                             .summary = "how likely each position of the test data is",
                                             .needs = Need::likelihood,
                                             .ends_a_run = true};

  static std::vector<Metric> metrics(const Dataset&) {
    return {{.name = "nll",
             .axis = {"position", "", "tokens before the one that is told"},
             .title = "loss by position",
             .unit = std::string(kNats),
             .meaning = "negative log-likelihood of the token at a position",
             .higher_better = false}};
  }

  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    const TestLength& test = data.tests.front();
    const int64_t length = model.config().max_seqlen;
    in_batches(model, *test.set, examples_at_once(model, length), test.set->size(),
               [&](const Batch& batch, int64_t first) {
                 const Tensor nll = model.nll(batch).view({batch.tokens.size(0), -1}).cpu();
                 const Tensor scored = (batch.weight > 0).view_as(nll).cpu();  // the rest is padding
                 for (int64_t i = 0; i < nll.size(0); ++i)
                   for (int64_t at = 0; at < nll.size(1); ++at) {
                     if (!scored[i][at].item<bool>()) continue;
                     emit({.metric = "nll",
                           .axis = "position",
                           .at = double(at),
                           .example = first + i,
                           .cluster = test.set->cluster(first + i),
                           .value = nll[i][at].item<double>()});
                   }
               });
  }
};

template Evaluation evaluation_of<NllByPosition>();
}  // namespace darope
