#pragma once
#include "base/random.h"
#include "stats/scores.h"

namespace darope::stats {

// Tables of scores with known truth, for asking how often a rule is wrong:
// y = seed + encoding x seed + encoding x cluster + residual, all normal.
struct Truth {
  size_t encodings = 6, seeds = 3, examples = 200, cluster_size = 1, tasks = 1;
  double run_sd = 0.01, example_sd = 0.02, residual_sd = 0.02, seed_sd = 0.01;
  double unsteady = 1;   // times run_sd, for the last encoding
  double lead = 0;       // of the first encoding over the others
  size_t tail_df = 0;    // of Student's t in place of the normal for runs and clusters, 3 or more; 0: normal
  bool unequal = false;  // clusters of 1 to 2 cluster_size - 1 examples instead of cluster_size each
};
Scores simulate(const Truth& truth, size_t task, Random& random);

}  // namespace darope::stats
