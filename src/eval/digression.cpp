#include "eval/define.h"
#include "eval/probes.h"

namespace darope {

// A value was bound to a topic; another one, to another topic, stands nearer when the first is asked for.
class Digression {
 public:
  static constexpr Evaluation::Traits traits{
      .name = "digression",
      .summary = "the value of a topic, behind a digression to another",
      .needs = Need::prompts,
      .of_its_own = true};
  static std::vector<Metric> metrics(const Dataset& data) {
    return probe_metrics(kDistance, data.prompts->digression, "return from digression");
  }
  static void score(Decoder& model, const Dataset& data, const Emit& emit) {
    score_probe(model, kDistance, data.prompts->digression, emit);
  }
};

template Evaluation evaluation_of<Digression>();
}  // namespace darope
