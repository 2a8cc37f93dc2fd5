#include "stats/power.h"

#include <gtest/gtest.h>

#include "stats/simulate.h"
#include "tables.h"

namespace darope::stats {
namespace {

class Power : public testing::Test {
 protected:
  PairVerdict pair(const Truth& truth) {
    Random random(1, "power");
    return judge(simulate(truth, 0, random), {}, noise).pair(0, 1);
  }
  Noise noise;
};

// The promise kept: with as many seeds as asked for, a true difference is found about four times in five.
TEST_F(Power, SeedsAskedForFindTheDifference) {
  Truth truth{.encodings = 4, .seeds = 6, .examples = 60, .run_sd = 0.01, .example_sd = 0.005};
  const Need need = seeds_for(0.02, pair(truth), 4);
  ASSERT_EQ(need.by, Need::By::seeds);
  truth.seeds = need.seeds;
  truth.lead = 0.02;
  int found = 0;
  constexpr int repeats = 200;
  for (int r = 0; r < repeats; ++r) {
    Random random(2, "power/seeds", uint64_t(r));
    found += is_better(judge(simulate(truth, 0, random), {}, noise).pair(0, 1).verdict);
  }
  // The plan takes the spread seen in six seeds for the true one, so the power is 80 % only about.
  EXPECT_GT(found, 0.6 * repeats);
  EXPECT_LT(found, 0.97 * repeats);
}

TEST_F(Power, SmallerDifferencesTakeMoreSeedsAndMoreSeedsSeeSmallerOnes) {
  const PairVerdict few = pair({.seeds = 3});
  size_t last = 0;
  for (const double difference : {0.05, 0.03, 0.02, 0.01}) {
    const Need need = seeds_for(difference, few, 6);
    ASSERT_EQ(need.by, Need::By::seeds) << difference;
    EXPECT_GE(need.seeds, last);
    last = need.seeds;
  }
  EXPECT_LT(detectable(pair({.seeds = 10})), detectable(few));
}

TEST_F(Power, WhatSeedsCannotReachIsSaid) {
  const PairVerdict few_examples = pair({.seeds = 3, .examples = 10, .example_sd = 0.3});
  EXPECT_EQ(seeds_for(0.01, few_examples, 6).by, Need::By::out_of_reach);
  EXPECT_EQ(need(few_examples, 6, 0.01).by, Need::By::out_of_reach);
  EXPECT_EQ(seeds_for(0.01, pair({.seeds = 1}), 6).by, Need::By::unknown_with_one_seed);
}

TEST_F(Power, WhatIsDecidedNeedsNothing) {
  EXPECT_EQ(need(pair({.seeds = 10, .run_sd = 0.001, .lead = 0.2}), 6, 0.01).by, Need::By::nothing);
  const PairVerdict same = judge(task_of({{0.5, 0.5}, {0.5, 0.5}}), {}, noise).pair(0, 1);
  EXPECT_EQ(need(same, 2, 0.01).by, Need::By::nothing);
  EXPECT_EQ(detectable(same), 0);
}

TEST(Range, OfTwoIsRootTwoTimesANormal) {
  EXPECT_NEAR(normal_range_quantile(0.95, 2), std::sqrt(2) * normal_quantile(0.95), 1e-9);
}

}  // namespace
}  // namespace darope::stats
