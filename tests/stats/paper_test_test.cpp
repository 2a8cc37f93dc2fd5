#include "stats/paper_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace darope::stats {
namespace {

// A method whose seeds have the given means; its examples swing by +-swing around what all methods share.
Method method(const std::string& name, const Values& seed_means, double swing = 0, size_t examples = 100) {
  Method result{name, {}};
  for (const double centre : seed_means) {
    Values row;
    for (size_t i = 0; i < examples; ++i)
      row.push_back(centre + 0.01 * double(i % 7) + (i % 2 ? -swing : swing));
    result.scores.push_back(row);
  }
  return result;
}

const Method level = method("level", {0.5, 0.5, 0.5});

TEST(PaperTest, AveragesOverSeedsAndTurnsLosses) {
  const Method ahead = method("ahead", {0.6, 0.55, 0.7}, 0.1);
  const PaperTest up = paper_test("ahead", {ahead, level}, true).at(0);
  EXPECT_NEAR(up.test.mean, 0.35 / 3, 1e-12);
  EXPECT_NEAR(up.by_seed[1], 0.05, 1e-12);
  EXPECT_NEAR(paper_test("ahead", {ahead, level}, false).at(0).test.mean, -0.35 / 3, 1e-12);
  EXPECT_NEAR(paper_test("level", {ahead, level}, true).at(0).test.mean, -0.35 / 3, 1e-12);
}

// p = 0.018 on its own (scipy: t = 2.4, df = 99); among three baselines Holm makes it 0.055.
TEST(PaperTest, HolmCountsTheBaselinesShown) {
  const Method reference = method("reference", {0.55}, 0.20728904939721252), zero = method("zero", {0.5});
  const auto alone = paper_test("reference", {zero, reference}, true);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_NEAR(alone[0].test.p, 0.0182645668643366, 1e-10);
  EXPECT_NEAR(std::exp(alone[0].holm_ln_p), 0.0182645668643366, 1e-10);

  const Method twin = method("twin", {0.55}, 0.20728904939721252),
               other = method("other", {0.55}, 0.2072890493972125);
  const auto among = paper_test("reference", {zero, reference, twin, other}, true);
  ASSERT_EQ(among.size(), 3u);
  EXPECT_EQ(among[0].second, "zero");
  EXPECT_NEAR(std::exp(among[0].holm_ln_p), 3 * 0.0182645668643366, 1e-9);
}

TEST(PaperTest, AConstantLeadHasNoZeroP) {
  const PaperTest c = paper_test("constant", {method("constant", {0.9, 0.9, 0.9}), level}, true).at(0);
  EXPECT_NEAR(c.holm_ln_p, -99 * std::log(2), 1e-9);
}

TEST(PaperTest, BadInputIsRefused) {
  const Method shorter = method("shorter", {0.5, 0.5, 0.5}, 0, 99), fewer = method("fewer", {0.5, 0.5});
  EXPECT_THROW(paper_test("level", {level, shorter}, true), Error);
  EXPECT_THROW(paper_test("level", {level, fewer}, true), Error);
  EXPECT_THROW(paper_test("levl", {level}, true), Error);
  EXPECT_THROW(paper_test("level", {}, true), Error);
  EXPECT_THROW(paper_test("tiny", {method("tiny", {0.5}, 0, 2)}, true), Error);
  Method broken = level;
  broken.scores[1][4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(paper_test("level", {level, broken}, true), Error);
  EXPECT_TRUE(paper_test("level", {level}, true).empty());
}

}  // namespace
}  // namespace darope::stats
