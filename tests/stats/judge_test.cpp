#include "stats/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/modes.h"
#include "stats/simulate.h"
#include "tables.h"

namespace darope::stats {
namespace {

class Judge : public testing::Test {
 protected:
  PairVerdict first_pair(const Scores& scores, const Judging& rule = {}) {
    return judge(scores, rule, noise).pairs.at(0);
  }
  Noise noise;
};

const Table kSteady = {{0.60, 0.61, 0.59, 0.60}, {0.50, 0.51, 0.50, 0.49}};

TEST_F(Judge, TheIntervalAloneDecides) {
  for (const double lead : {-0.1, -0.02, -0.008, 0.0, 0.004, 0.02, 0.1})
    for (const double run_sd : {0.0005, 0.003, 0.03})
      for (const bool higher_better : {true, false}) {
        Random random(3, "judge");
        const Truth truth{.encodings = 3, .seeds = 4, .run_sd = run_sd, .example_sd = 0.01, .lead = lead};
        const PairVerdict pair =
            first_pair(simulate(truth, 0, random), {.higher_better = higher_better, .margin = 0.01});
        const auto [low, high] = pair.interval;
        EXPECT_EQ(is_better(pair.verdict), low > 0);
        EXPECT_EQ(is_worse(pair.verdict), high < 0);
        EXPECT_EQ(is_within_margin(pair.verdict), low >= -0.01 && high <= 0.01);
        EXPECT_EQ(pair.verdict == Verdict::undecided, low <= 0 && high >= 0 && (low < -0.01 || high > 0.01));
        EXPECT_NEAR(pair.difference, (low + high) / 2, 1e-12);
      }
}

TEST_F(Judge, EveryVerdictOccurs) {
  EXPECT_EQ(first_pair(task_of(kSteady)).verdict, Verdict::better);
  EXPECT_EQ(first_pair(task_of(kSteady), {.higher_better = false}).verdict, Verdict::worse);
  EXPECT_EQ(first_pair(task_of(kSteady), {.margin = 0.2}).verdict, Verdict::slightly_better);
  EXPECT_EQ(first_pair(task_of({{0.5, 0.6}, {0.55, 0.54}})).verdict, Verdict::undecided);
  const Table near = {{0.500, 0.501, 0.499, 0.500}, {0.501, 0.500, 0.500, 0.499}};
  EXPECT_EQ(first_pair(task_of(near)).verdict, Verdict::tied);
}

TEST_F(Judge, MoreExamplesOfTheSameRunsDoNotMakeRunsAgree) {  // they would have: pseudo-replication
  const Table mixed = {{0.60, 0.52, 0.55}, {0.50, 0.55, 0.52}};
  const PairVerdict few = first_pair(task_of(mixed, 0.01, 100)),
                    many = first_pair(task_of(mixed, 0.01, 10'000));
  EXPECT_EQ(few.verdict, Verdict::undecided);
  EXPECT_EQ(many.verdict, Verdict::undecided);
  EXPECT_GT(many.standard_error, 0.9 * few.standard_error);
}

TEST_F(Judge, FewClustersWidenTheInterval) {
  const double many = first_pair(task_of(kSteady, 0.1, 400)).standard_error;
  const double few = first_pair(task_of(kSteady, 0.1, 4)).standard_error;
  EXPECT_GT(few, 3 * many);
}

TEST_F(Judge, OneThatFailedDoesNotWidenTheOthers) {
  const Table three = {
      {0.600, 0.603, 0.601, 0.600}, {0.500, 0.501, 0.503, 0.500}, {0.552, 0.550, 0.551, 0.549}};
  Table with_failure = three;
  with_failure.push_back({0.1, 0.6, 0.2, 0.5});
  const Judged alone = judge(task_of(three), {}, noise), beside = judge(task_of(with_failure), {}, noise);
  EXPECT_EQ(beside.apart, std::vector<std::string>{"d"});
  EXPECT_TRUE(alone.apart.empty());
  const PairVerdict before = alone.pair(0, 1), after = beside.pair(0, 1);
  EXPECT_NEAR(after.standard_error, before.standard_error, 1e-12);
  EXPECT_LT(after.interval.high - after.interval.low, 3 * (before.interval.high - before.interval.low));
  EXPECT_EQ(after.verdict, Verdict::better);
}

TEST_F(Judge, OneSeedSpeaksOfTheseModelsOnly) {
  const PairVerdict pair = first_pair(task_of({{0.6}, {0.5}}, 0.05));
  EXPECT_FALSE(pair.about_encodings());
  EXPECT_EQ(pair.verdict, Verdict::better);
  EXPECT_EQ(pair.runs, 0);
  EXPECT_TRUE(first_pair(task_of(kSteady)).about_encodings());
}

TEST_F(Judge, ASeedCountsForThePairsThatHaveIt) {
  Scores scores("task", {"a", "b", "c"}, 4, 20);
  const auto run = [&](size_t e, size_t s, double centre) {
    Values row(20, centre);
    for (size_t c = 0; c < row.size(); c += 2) row[c] += 0.001;
    scores.set(e, s, row);
  };
  for (size_t s = 0; s < 4; ++s) run(0, s, 0.6 + 0.001 * double(s % 2));
  for (size_t s = 0; s < 4; ++s) run(1, s, 0.5 - 0.001 * double(s % 3));
  for (size_t s = 0; s < 1; ++s) run(2, s, 0.4);
  const Judged judged = judge(scores, {}, noise);
  EXPECT_EQ(judged.pair(0, 1).seeds, 4u);
  EXPECT_EQ(judged.pair(0, 1).verdict, Verdict::better);
  EXPECT_EQ(judged.pair(0, 2).seeds, 1u);
  EXPECT_FALSE(judged.pair(0, 2).about_encodings());
  EXPECT_EQ(*judged.leader, 0u);
}

TEST_F(Judge, EncodingsThatShareNoSeedAreNotCompared) {
  Scores scores("task", {"a", "b"}, 2, 3);
  scores.set(0, 0, {1, 2, 3});
  scores.set(1, 1, {2, 3, 4});
  const PairVerdict pair = first_pair(scores);
  EXPECT_EQ(pair.seeds, 0u);
  EXPECT_EQ(pair.verdict, Verdict::undecided);
}

TEST_F(Judge, ScoresThatDoNotVary) {
  const PairVerdict same = first_pair(task_of({{0.3, 0.3, 0.3}, {0.3, 0.3, 0.3}}));
  EXPECT_EQ(same.verdict, Verdict::tied);
  EXPECT_EQ(same.difference, 0);  // not 5.6e-17
  EXPECT_EQ(first_pair(task_of({{1, 1, 1}, {0, 0, 0}})).verdict, Verdict::better);
  EXPECT_EQ(first_pair(task_of({{1, 1}, {0, 0}})).verdict, Verdict::undecided);
}

TEST_F(Judge, OneEncodingAloneHasNoPairs) {
  const Judged judged = judge(task_of({{0.5, 0.6}}), {}, noise);
  EXPECT_TRUE(judged.pairs.empty());
  EXPECT_FALSE(judged.leader.has_value());
  EXPECT_TRUE(judged.tied_groups().empty());
}

TEST_F(Judge, RefusesWhatTellsNothing) {
  EXPECT_THROW(first_pair(task_of(kSteady, 0, 1)), Error);  // one cluster: no word on examples
  EXPECT_THROW(first_pair(task_of(kSteady), {.margin = -1}), Error);
  EXPECT_THROW(first_pair(task_of(kSteady), {.margin = std::nan("")}), Error);
}

TEST_F(Judge, TheSameEveryTime) {
  Noise other;
  const Scores scores = task_of({{0.60, 0.58, 0.59}, {0.57, 0.55, 0.59}, {0.57, 0.58, 0.56}}, 0.02);
  const Judged one = judge(scores, {}, noise), two = judge(scores, {}, other);
  for (size_t p = 0; p < one.pairs.size(); ++p)
    EXPECT_EQ(one.pairs[p].interval.low, two.pairs[p].interval.low);
}

TEST_F(Judge, SwappingAPairTurnsIt) {
  const Judged judged = judge(task_of(kSteady), {}, noise);
  EXPECT_EQ(judged.pair(1, 0).verdict, Verdict::worse);
  EXPECT_EQ(judged.pair(1, 0).interval.high, -judged.pair(0, 1).interval.low);
}

// Being tied does not carry over: 0.500 and 0.508, 0.508 and 0.516 are within 0.01, the outer two are not.
TEST_F(Judge, GroupsNeedAllPairs) {
  const Table table = {
      {0.5, 0.5, 0.5001}, {0.508, 0.508, 0.5081}, {0.516, 0.516, 0.5161}, {0.9, 0.9001, 0.9}};
  using Groups = std::vector<std::vector<size_t>>;
  EXPECT_EQ(judge(task_of(table), {}, noise).tied_groups(), (Groups{{0, 1}, {1, 2}}));
}

Judged of_ties(size_t encodings, bool (*near)(size_t, size_t)) {
  Judged judged;
  judged.encodings.assign(encodings, "any");
  for (size_t a = 0; a < encodings; ++a)
    for (size_t b = a + 1; b < encodings; ++b) {
      PairVerdict pair;
      pair.first = a, pair.second = b;
      pair.verdict = near(a, b) ? Verdict::tied : Verdict::undecided;
      judged.pairs.push_back(pair);
    }
  return judged;
}

// Found by going through all subsets of so few.
TEST_F(Judge, GroupsAreTheLargestOnes) {
  constexpr size_t kEncodings = 11;
  const auto near = [](size_t a, size_t b) { return (a * 7 + b * 5 + a * b) % 3 != 0; };
  std::vector<std::vector<size_t>> largest;
  const auto tied = [&](unsigned set) {
    for (size_t b = 0; b < kEncodings; ++b)
      for (size_t a = 0; a < b; ++a)
        if ((set >> a & 1U) && (set >> b & 1U) && !near(a, b)) return false;
    return true;
  };
  for (unsigned set = 1; set < 1U << kEncodings; ++set) {
    bool more = false;
    for (size_t e = 0; e < kEncodings; ++e) more |= !(set >> e & 1U) && tied(set | 1U << e);
    if (!tied(set) || more || (set & (set - 1)) == 0) continue;
    largest.emplace_back();
    for (size_t e = 0; e < kEncodings; ++e)
      if (set >> e & 1U) largest.back().push_back(e);
  }
  std::ranges::sort(largest);
  EXPECT_EQ(of_ties(kEncodings, near).tied_groups(), largest);
}

TEST_F(Judge, ManyTiesAreOneGroupAndAwkwardOnesEnd) {
  const Judged all = of_ties(200, [](size_t, size_t) { return true; });
  ASSERT_EQ(all.tied_groups().size(), 1u);
  EXPECT_EQ(all.tied_groups().front().size(), 200u);
  // All but each third pair of neighbours: 3^21 largest groups.
  const Judged awkward = of_ties(63, [](size_t a, size_t b) { return a / 3 != b / 3; });
  EXPECT_EQ(awkward.tied_groups().size(), Judged::kMostGroups);
}

TEST_F(Judge, ATaskIsLearnedByWhoeverBeatsTheBestConstant) {
  EXPECT_TRUE(is_learned(task_of(kSteady), 0.5, {}, noise));
  EXPECT_FALSE(is_learned(task_of(kSteady), 0.61, {}, noise));
  EXPECT_FALSE(is_learned(task_of({{0.52, 0.49, 0.51}, {0.50, 0.52, 0.48}}), 0.5, {}, noise));
  EXPECT_TRUE(is_learned(task_of({{1, 1, 1}, {1, 1, 1}}), 0.5, {}, noise));
  EXPECT_FALSE(
      is_learned(task_of({{0.503, 0.503, 0.5031}}), 0.5, {}, noise));  // certain, and less than matters
}

TEST(Modes, TwoGroupsOfRuns) {
  const auto solved = two_groups({0.13, 0.99, 0.12}, 0.01, 0.01);
  ASSERT_TRUE(solved.has_value());
  EXPECT_EQ(solved->high, 1u);
  EXPECT_EQ(solved->low, 2u);
  EXPECT_NEAR(solved->low_mean, 0.125, 1e-12);
  EXPECT_FALSE(two_groups({0.5, 0.52, 0.55}, 0.01, 0.01).has_value());
  EXPECT_FALSE(two_groups({0.5, 0.53, 0.53}, 0.01, 0.01).has_value());  // a gap, but a small one
  EXPECT_FALSE(two_groups({0.1, 0.9, 0.1}, 0.01, 0.3).has_value());     // as all encodings vary
  EXPECT_FALSE(two_groups({0.1, 0.9}, 0.01, 0).has_value());
  EXPECT_THROW(two_groups({0.1, std::nan(""), 0.9}, 0.01, 0), Error);
}

}  // namespace
}  // namespace darope::stats
