#include "stats/scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace darope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Scores, SayWhichRunIsWrong) {
  Scores scores("parity", {"rope", "nope"}, 2, 3);
  EXPECT_FALSE(scores.has(1, 0));
  scores.set(1, 0, {1, 2, 3});
  EXPECT_TRUE(scores.has(1, 0));
  const auto message = [&](const Values& values) {
    try {
      scores.set(1, 1, values);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message({1, 2}), "parity, nope, seed 1: scores of 2 clusters, where the task has 3");
  EXPECT_EQ(message({1, kNaN, 2}), "parity, nope, seed 1: value 1 is not a finite number");
  EXPECT_THROW(Scores("parity", {}, 2, 3), Error);
  EXPECT_THROW(Scores("parity", {"rope"}, 0, 3), Error);
}

TEST(ByCluster, OfOneSizeAreTheirMeans) {
  EXPECT_EQ(by_cluster({1, 2, 5, 8}, {0, 0, 1, 1}), (Values{1.5, 6.5}));
  EXPECT_EQ(by_cluster({4, 5, 6}, {2, 0, 1}), (Values{5, 6, 4}));  // of size one: the examples themselves
}

TEST(ByCluster, OfUnequalSizeKeepTheMeanOverExamples) {
  const Values examples = {1, 2, 3, 10, 11}, values = by_cluster(examples, {0, 0, 0, 1, 2});
  EXPECT_NEAR(mean(values), mean(examples), 1e-14);
  EXPECT_NEAR(values[0], 5.4 + 3.0 / 5 * (6 - 3 * 5.4), 1e-14);
}

TEST(ByCluster, UnequalOnesCountAsFewer) {
  EXPECT_EQ(witnesses({1, 1, 1, 1}), 4u);
  EXPECT_EQ(witnesses({7, 7, 7}), 3u);
  EXPECT_EQ(witnesses({1}), 1u);
  EXPECT_EQ(witnesses({1000, 1, 1, 1}), 2u);     // one speaks, and two are needed for a spread
  EXPECT_EQ(witnesses({1, 2, 3, 4, 5, 6}), 3u);  // 91 * 91 / 2275
}

TEST(ByCluster, RefusesGapsAndNonNumbers) {
  EXPECT_THROW(by_cluster({1, 2}, {0, 2}), Error);
  EXPECT_THROW(by_cluster({1, 2, 3}, {0, 2, 0}), Error);
  EXPECT_THROW(by_cluster({1, 2}, {0, -1}), Error);
  EXPECT_THROW(by_cluster({1, 2}, {0}), Error);
  EXPECT_THROW(by_cluster({1, kNaN}, {0, 1}), Error);
  EXPECT_THROW(by_cluster({}, {}), Error);
}

}  // namespace
}  // namespace darope::stats
