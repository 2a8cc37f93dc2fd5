#pragma once
#include "stats/judge.h"

namespace darope::stats {

// Seeds added in rounds where they decide. The rounds are fixed beforehand and share the 5 % evenly, so that
// with however many looks at most 5 % of comparisons call some pair better that is not (Bonferroni over
// looks: no look need know of another).
struct SettlePlan {
  std::vector<size_t> seeds = {3, 5, 8, 12};  // in all, after each round

  Judging rule_of_a_round(const Judging& rule) const;
};

// What was decided so far. A verdict stands from the round that gave it.
struct Settled {
  struct Decision {
    size_t round = 0;  // from 1; 0 while open
    PairVerdict pair;
  };
  size_t rounds = 0;
  std::vector<Decision> pairs;   // (i, j) with i < j, row by row
  std::optional<size_t> leader;  // by the last round
  std::vector<uint8_t> more;     // encodings that need more seeds: the leader and those not told from it

  bool done() const;
};

// One more look at the scores there are now, with the seeds that the plan has for the round.
Settled settle(const Scores& scores, const SettlePlan& plan, const Judging& rule, const Settled& before,
               Noise& noise);

}  // namespace darope::stats
