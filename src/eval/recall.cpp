#include "eval/define.h"
#include "eval/probes.h"

namespace darope {

// One of many keys is asked for again.
class Recall {
 public:
  static constexpr Evaluation::Traits traits{.name = "recall",
                                             .summary = "the value of one of many keys",
                                             .needs = Need::prompts,
                                             .of_its_own = true};
  static std::vector<Metric> metrics(const Dataset& data) {
    return probe_metrics(kBindingsAxis, data.prompts->recall, "key-value recall");
  }
  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    score_probe(model, kBindingsAxis, data.prompts->recall, emit);
  }
};

template Evaluation evaluation_of<Recall>();
}  // namespace darope
