#pragma once
#include <string>
#include <string_view>

#include "stats/paired.h"

namespace darope::stats {

// Scores of one method: rows are seeds, columns test examples. Methods compared share the examples and the
// number of seeds.
struct Method {
  std::string name;
  Table scores;
};

// The test of the paper: a paired t-test over examples, each averaged over seeds, with Holm's correction over
// the baselines. It takes the trained models as given, so it speaks of them and not of encodings. Differences
// are turned so that positive means the first is the better one.
struct PaperTest {
  std::string first, second;
  PairedTest test;
  double holm_ln_p = 0, effect = 0;
  Interval interval;  // of this pair alone
  Values by_seed;     // each seed's mean difference
};

// The reference against every other method, in their order; Holm over all of them.
std::vector<PaperTest> paper_test(std::string_view reference, const std::vector<Method>& methods,
                                  bool higher_better);

}  // namespace darope::stats
