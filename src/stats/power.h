#pragma once
#include "stats/judge.h"

namespace darope::stats {

inline constexpr double kPower = 0.8;
inline constexpr size_t kMostSeeds = 1000;

// The true difference that a comparison like this one calls better with 80 % power.
double detectable(const PairVerdict& pair);

// What would decide a pair: seeds in all, as many as give 80 % power to call a difference as large as the one
// seen better or, where it is smaller than the margin, tied. Not by seeds: with one seed nothing tells how
// runs vary; else the margin is out of reach, as examples are too few or runs vary too much.
struct Need {
  enum class By { nothing, seeds, unknown_with_one_seed, out_of_reach } by = By::nothing;
  size_t seeds = 0;  // in all, not in addition
};
Need need(const PairVerdict& pair, size_t encodings, double margin);
// Seeds in all that give 80 % power for a given true difference.
Need seeds_for(double difference, const PairVerdict& pair, size_t encodings);

// The point below which the range of so many independent standard normal numbers lies with the given
// confidence: Tukey's studentized range with all degrees of freedom there are.
double normal_range_quantile(double confidence, size_t numbers);

}  // namespace darope::stats
