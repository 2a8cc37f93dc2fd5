#pragma once
#include <cstdint>
#include <optional>

#include "stats/basic.h"

namespace darope::stats {

// Intervals of a proportion of `hits` among `trials`. Wilson's is right near 0 and 1; Wald's is the textbook
// one, cut at 0 and 1.
Interval wilson(int64_t hits, int64_t trials, double confidence = 0.95);
Interval wald(int64_t hits, int64_t trials, double confidence = 0.95);

double chance_normalised(double accuracy, double chance);  // 0 at chance, 1 at perfect, negative below chance

Values ranks(const Values& scores, bool higher_better);  // 1 is the best; ties share their mean rank

struct MeanRank {
  double mean = 0;
  std::optional<double> standard_error;  // across datasets, so one dataset has none
};
std::vector<MeanRank> mean_ranks(const Table& scores,
                                 bool higher_better);  // rows are datasets, columns methods; one per method

// The spread over seeds of a mean over tasks, from each task's own: sqrt(sum of variances) / tasks. Rows are
// tasks, columns seeds.
double propagated_seed_sd(const Table& scores);

}  // namespace darope::stats
