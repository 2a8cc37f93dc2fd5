#include "stats/verdict.h"

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

Comparison against(const Method& first, const Method& second, const Rule& rule = {}) {
  return compare_with(first.name, {first, second}, rule).at(0);
}

const Method level = method("level", {0.5, 0.5, 0.5});

TEST(Verdict, BetterAndWorse) {
  const Method ahead = method("ahead", {0.6, 0.55, 0.7}, 0.1);
  const Comparison up = against(ahead, level), down = against(level, ahead);
  EXPECT_EQ(up.outcome, Outcome::better);
  EXPECT_EQ(down.outcome, Outcome::worse);
  EXPECT_NEAR(up.test.mean, 0.35 / 3, 1e-12);
  EXPECT_NEAR(up.test.mean, -down.test.mean, 1e-15);
  EXPECT_NEAR(up.by_seed[1], 0.05, 1e-12);
  EXPECT_EQ(up.settling.by, Settling::By::not_needed);
}

TEST(Verdict, LowerMayBeBetter) {
  const Method higher = method("higher", {0.6, 0.55, 0.7}, 0.1);
  const Comparison loss = against(higher, level, {.higher_better = false});
  EXPECT_EQ(loss.outcome, Outcome::worse);
  EXPECT_LT(loss.test.mean, 0);
}

TEST(Verdict, OneSeedOfAnotherSignLeavesItUndecided) {
  const Comparison c = against(method("mixed", {0.7, 0.7, 0.499}, 0.01), level);
  EXPECT_LT(c.holm_ln_p, std::log(1e-10));  // certain by examples
  EXPECT_EQ(c.outcome, Outcome::undecided);
  EXPECT_EQ(against(method("flat", {0.7, 0.7, 0.5}, 0.01), level).outcome,
            Outcome::undecided);  // nor does zero agree
}

// p = 0.018 on its own (scipy: t = 2.4, df = 99); among three baselines Holm makes it 0.055.
TEST(Verdict, HolmCountsTheBaselinesShown) {
  const Method reference = method("reference", {0.55}, 0.20728904939721252), zero = method("zero", {0.5});
  const auto alone = compare_with("reference", {zero, reference}, {});
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_NEAR(alone[0].test.p, 0.0182645668643366, 1e-10);
  EXPECT_EQ(alone[0].outcome, Outcome::better);

  const Method twin = method("twin", {0.55}, 0.20728904939721252),
               other = method("other", {0.55}, 0.2072890493972125);
  const auto among = compare_with("reference", {zero, reference, twin, other}, {});
  ASSERT_EQ(among.size(), 3u);
  EXPECT_EQ(among[0].second, "zero");
  EXPECT_NEAR(std::exp(among[0].holm_ln_p), 3 * 0.0182645668643366, 1e-9);
  EXPECT_EQ(among[0].outcome, Outcome::undecided);
  EXPECT_EQ(among[1].outcome, Outcome::tied);
}

TEST(Verdict, TiedNeedsTheWholeInterval) {
  const Method near = method("near", {0.505, 0.505, 0.505}, 0.01);  // half-width 0.00199 around 0.005
  EXPECT_EQ(against(near, level, {.margin = 0.0071}).outcome, Outcome::tied);
  EXPECT_EQ(against(near, level, {.margin = 0.0069}).outcome, Outcome::better);  // the upper end sticks out
  const Method noisy = method("noisy", {0.5, 0.5, 0.5}, 0.2);                    // half-width 0.04 around 0
  EXPECT_EQ(against(noisy, level, {.margin = 0.041}).outcome, Outcome::tied);
  EXPECT_EQ(against(noisy, level, {.margin = 0.039}).outcome, Outcome::undecided);
}

TEST(Verdict, ATieIsOfTheMeanOverSeeds) {
  const Comparison c = against(method("split", {0.6, 0.4, 0.5}, 0.001), level, {.margin = 0.05});
  EXPECT_EQ(c.outcome, Outcome::tied);
  EXPECT_NEAR(c.by_seed[0], 0.1, 1e-12);  // and its seeds are there to be seen
}

TEST(Verdict, IdenticalMethodsAreTied) {
  Method copy = level;
  copy.name = "copy";
  const Comparison c = against(copy, level, {.margin = 0});
  EXPECT_EQ(c.outcome, Outcome::tied);
  EXPECT_EQ(c.test.p, 1);
}

TEST(Verdict, AConstantLeadIsBetterWithoutAZeroP) {
  const Comparison c = against(method("constant", {0.9, 0.9, 0.9}), level);
  EXPECT_EQ(c.outcome, Outcome::better);
  EXPECT_NEAR(c.holm_ln_p, -99 * std::log(2), 1e-9);
}

// Mean difference 0.02, spread 0.0424 over two seeds: t(S-1) / sqrt(S) falls below 0.02/0.0424 at 20 seeds
// (scipy), and below 0.025/0.0424 at 14, where a margin of 0.045 leaves that much room.
TEST(Verdict, SeedsThatWouldSettle) {
  const Method two = method("two", {0.5, 0.5}), mixed = method("mixed", {0.49, 0.55}, 0.001),
               noisy = method("noisy", {0.49, 0.55}, 0.14);
  const Comparison by_sign = against(mixed, two), by_margin = against(noisy, two, {.margin = 0.045});
  EXPECT_EQ(by_sign.settling.by, Settling::By::seeds);
  EXPECT_EQ(by_sign.settling.seeds, 20);
  EXPECT_EQ(by_margin.outcome, Outcome::undecided);
  EXPECT_EQ(by_margin.settling.seeds, 14);
}

TEST(Verdict, WhatSeedsCannotSettleIsSaid) {
  EXPECT_EQ(against(method("single", {0.505}, 0.5), method("zero", {0.5})).settling.by,
            Settling::By::unknown_with_one_seed);
  EXPECT_EQ(against(method("wild", {0.0, 1.04}), method("two", {0.5, 0.5})).settling.by,
            Settling::By::more_seeds_than_sensible);
  EXPECT_EQ(against(method("noisy", {0.52, 0.521}, 0.9), method("two", {0.5, 0.5})).settling.by,
            Settling::By::examples);
  Values nine_and_one(10, 0.55);
  nine_and_one[4] = 0.499;
  EXPECT_EQ(against(method("one out", nine_and_one, 0.01), method("ten", Values(10, 0.5))).settling.by,
            Settling::By::nothing);
}

TEST(Verdict, ReadsAsASentence) {
  const Method two = method("rope", {0.5, 0.5});
  EXPECT_EQ(
      in_words(against(method("darope", {0.49, 0.55}, 0.001), two), {}),
      "darope against rope is undecided (difference 0.02, 95 % interval 0.0198 to 0.0202, Holm p = 1.1e-130, "
      "ahead in 1 of 2 seeds); about 20 seeds in all would settle the mean difference, "
      "though with seeds that disagree in sign neither is called better.");
  EXPECT_EQ(in_words(against(method("darope", {0.501, 0.501}, 0.001), two), {}).substr(0, 36),
            "darope and rope are tied within 0.01");
  EXPECT_EQ(in_words(against(two, method("darope", {0.6, 0.6}, 0.001)), {}).substr(0, 25),
            "rope is worse than darope");
}

// Being tied does not carry over: 0.500 and 0.508, 0.508 and 0.516 are within 0.01, the outer two are not.
TEST(Groups, NeedAllPairs) {
  const Method low = method("low", {0.5, 0.5}), middle = method("middle", {0.508, 0.508}),
               high = method("high", {0.516, 0.516}), far = method("far", {0.9, 0.9}),
               also_middle = method("also", {0.508, 0.508});
  using Groups = std::vector<std::vector<size_t>>;
  EXPECT_EQ(tied_groups({low, middle, high, far}, {}), (Groups{{0, 1}, {1, 2}}));
  EXPECT_EQ(tied_groups({low, middle, far, also_middle}, {}), (Groups{{0, 1, 3}}));
  EXPECT_EQ(tied_groups({low, middle, high, also_middle}, {}), (Groups{{0, 1, 3}, {1, 2, 3}}));
  EXPECT_EQ(tied_groups({low, far}, {}), Groups{});
}

Method coin(const std::string& name, int hits, int examples) {  // one seed of right and wrong answers
  Method result{name, {Values(size_t(examples), 0)}};
  for (int i = 0; i < hits; ++i) result.scores[0][size_t(i)] = 1;
  return result;
}

TEST(Learned, NeedsAClearLeadOverChanceAndTheBestConstant) {
  EXPECT_FALSE(learned({coin("a", 500, 1000), coin("b", 520, 1000)}, 0.5, 0.5, {}));
  EXPECT_TRUE(learned({coin("a", 500, 1000), coin("b", 900, 1000)}, 0.5, 0.5, {}));
  EXPECT_FALSE(
      learned({coin("a", 500, 1000), coin("b", 900, 1000)}, 0.5, 0.95, {}));  // ones everywhere do better
  EXPECT_FALSE(learned({coin("a", 500, 1000), coin("b", 900, 1000)}, 0.95, 0.5, {}));
  EXPECT_TRUE(learned({coin("a", 1000, 1000)}, 0.5, 0.95, {}));
  EXPECT_FALSE(learned({coin("a", 1000, 1000)}, 0.5, 0.995, {}));  // within the margin of a constant
}

TEST(Learned, SurelyBeyondChanceIsNotEnough) {  // a twentieth of the way from 0.1 to perfect is 0.145
  EXPECT_FALSE(learned({coin("counts", 1400, 10'000), coin("guesses", 1000, 10'000)}, 0.1, 0.1, {}));
  EXPECT_TRUE(learned({coin("begins", 1600, 10'000), coin("guesses", 1000, 10'000)}, 0.1, 0.1, {}));
}

TEST(Learned,
     ManyMethodsGetNoExtraLuck) {  // 0.56 +- 0.031 on its own; with ten methods +- 0.044; 0.525 counts
  std::vector<Method> many(10, coin("chance", 500, 1000));
  many[3] = coin("lucky", 560, 1000);
  EXPECT_TRUE(learned({many[3]}, 0.5, 0.5, {}));
  EXPECT_FALSE(learned(many, 0.5, 0.5, {}));
}

// The difference that is p = 0.018 on its own again: among all three pairs Holm makes it 0.055.
TEST(Verdict, AllPairsAreCorrectedTogether) {
  const Method reference = method("reference", {0.55}, 0.20728904939721252), zero = method("zero", {0.5});
  const Method same = method("same", {0.55}, 0.20728904939721252);
  const auto pairs = compare_all({reference, zero, same}, {});
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].first + " " + pairs[0].second + ", " + pairs[1].second + ", " + pairs[2].first,
            "reference zero, same, zero");
  EXPECT_NEAR(std::exp(pairs[0].holm_ln_p), 3 * 0.0182645668643366, 1e-10);
  EXPECT_EQ(pairs[0].outcome, Outcome::undecided);
  EXPECT_EQ(pairs[1].outcome, Outcome::tied);
}

TEST(Verdict, TurnedIsTheSamePairFromTheOtherSide) {
  const Method ahead = method("ahead", {0.6, 0.55, 0.7}, 0.1);
  const Comparison there = against(ahead, level), back = turned(against(level, ahead));
  EXPECT_EQ(back.first, "ahead");
  EXPECT_EQ(back.outcome, Outcome::better);
  EXPECT_DOUBLE_EQ(back.test.t, there.test.t);
  EXPECT_DOUBLE_EQ(back.effect, there.effect);
  EXPECT_DOUBLE_EQ(back.interval.low, there.interval.low);
  EXPECT_DOUBLE_EQ(back.by_seed[2], there.by_seed[2]);
  EXPECT_EQ(turned(there).outcome, Outcome::worse);
}

TEST(Verdict, BadInputIsRefused) {
  const Method shorter = method("shorter", {0.5, 0.5, 0.5}, 0, 99), fewer = method("fewer", {0.5, 0.5});
  EXPECT_THROW(against(level, shorter), Error);
  EXPECT_THROW(against(level, fewer), Error);
  EXPECT_THROW(compare_with("levl", {level}, {}), Error);
  EXPECT_THROW(compare_with("level", {}, {}), Error);
  EXPECT_THROW(tied_groups({level}, {.margin = -1}), Error);
  EXPECT_THROW(tied_groups({method("tiny", {0.5}, 0, 2)}, {}), Error);
  EXPECT_THROW(learned({level}, 0.5, 0.5, {.higher_better = false}), Error);
  Method broken = level;
  broken.scores[1][4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(tied_groups({level, broken}, {}), Error);
  EXPECT_TRUE(compare_with("level", {level}, {}).empty());
}

}  // namespace
}  // namespace darope::stats
