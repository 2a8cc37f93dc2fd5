#pragma once
#include <cstdint>

#include "stats/basic.h"

namespace darope::stats {

// How much the runs of each encoding vary beyond what all encodings of a seed share, from the variances of
// the pairs' differences: that of (a, b) estimates v_a + v_b.
//
// Encodings are pooled where their spreads allow it. One whose variance is beyond what chance gives (F
// against the others) stands apart, and the rest are looked at again without it, so that it does not widen
// their intervals. What stays together is drawn towards the pooled variance as if that had two degrees of
// freedom, but never below its own: with few seeds, a small spread of a few encodings is mostly luck.
class RunVariance {
 public:
  // Pairs (i, j) with i < j, row by row; the degrees of freedom of each are its seeds - 1, or 0.
  RunVariance(size_t encodings, const Values& pair_df);

  struct Estimate {
    Values variance;             // of one run of each encoding
    std::vector<uint8_t> apart;  // those that stand apart
  };
  Estimate estimate(const Values& pair_variances) const;

 private:
  using Members = std::vector<size_t>;
  double pooled(const Values& pair_variances, const Members& members) const;
  Members without(const Members& members, size_t left_out) const;

  size_t encodings_;
  Values pair_df_, own_df_;
  Values limit_;  // of the F ratio, by the number of encodings still together
};

inline size_t pair_index(size_t a, size_t b, size_t encodings) {  // of a < b, row by row
  return a * (2 * encodings - a - 1) / 2 + (b - a - 1);
}

// Numbers x_e with x_a + x_b as near to the pairs' sums as can be (weighted least squares) among the members;
// where the sums leave something open, it is split evenly. 0 for those that are no members.
Values split_sums(const Values& pair_sums, const Values& pair_weights, size_t encodings,
                  const std::vector<size_t>& members);

}  // namespace darope::stats
