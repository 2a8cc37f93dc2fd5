#pragma once
#include "stats/estimate.h"

namespace darope::stats {

// The difference first - second over one or more tasks, each of the same weight.
struct SuitePair {
  size_t first = 0, second = 0;
  size_t seeds = 0;  // shared ones, of the task with the fewest
  double difference = 0;
  double runs = 0, examples = 0;                // the two parts of its variance
  double runs_df = 0, examples_df = 0, df = 0;  // Satterthwaite's: of each part over tasks, and of their sum
  double critical = 0;                          // the interval is difference +- critical * standard_error

  double standard_error() const;
};

// All pairs, with intervals that hold together with the given confidence. The critical value is that of the
// largest |T| over the pairs where encodings are alike but as unequally steady as they seem, and no less than
// one pair alone would need: an unsteady encoding has only its own few runs.
std::vector<SuitePair> simultaneous(const std::vector<const TaskEstimate*>& tasks, double confidence);

}  // namespace darope::stats
