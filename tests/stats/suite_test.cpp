#include "stats/suite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "stats/settle.h"
#include "tables.h"

namespace darope::stats {
namespace {

class Suite : public testing::Test {
 protected:
  SuiteVerdict suite(const std::vector<Scores>& tasks, const Judging& rule = {}) {
    std::vector<const Scores*> all;
    for (const Scores& task : tasks) all.push_back(&task);
    return judge_suite(all, rule, noise);
  }
  Noise noise;
};

// Two encodings whose four runs lie around these means.
Scores around(double a, double b, const std::string& name, size_t clusters = 50) {
  return task_of({{a - 0.002, a + 0.002, a + 0.001, a - 0.001}, {b + 0.001, b - 0.001, b - 0.002, b + 0.002}},
                 0.005, clusters, name);
}

TEST_F(Suite, EveryTaskHasTheSameWeight) {
  const SuiteVerdict verdict = suite({around(0.9, 0.5, "large", 4000), around(0.5, 0.7, "small", 40)});
  EXPECT_NEAR(verdict.these_tasks.pair(0, 1).difference, (0.4 - 0.2) / 2, 0.003);
}

TEST_F(Suite, NamesTheTaskAVerdictHangsOn) {
  const SuiteVerdict verdict =
      suite({around(0.5, 0.5, "parity"), around(0.9, 0.5, "recall"), around(0.51, 0.512, "copy")});
  EXPECT_EQ(verdict.these_tasks.pair(0, 1).verdict, Verdict::better);
  EXPECT_EQ(verdict.hangs_on(0, 1), std::vector<std::string>{"recall"});
  ASSERT_TRUE(verdict.tasks_like_these.has_value());
  EXPECT_EQ(verdict.tasks_like_these->pair(0, 1).verdict, Verdict::undecided);
}

TEST_F(Suite, AVerdictThatHangsOnNoTask) {
  std::vector<Scores> tasks;
  for (int t = 0; t < 6; ++t) tasks.push_back(around(0.6 + 0.003 * t, 0.5, std::to_string(t)));
  const SuiteVerdict verdict = suite(tasks);
  EXPECT_TRUE(verdict.hangs_on(0, 1).empty());
  EXPECT_EQ(verdict.tasks_like_these->pair(0, 1).verdict, Verdict::better);
}

TEST_F(Suite, OneTaskIsItself) {
  const Scores task = around(0.6, 0.5, "only");
  const SuiteVerdict verdict = suite({task});
  EXPECT_EQ(verdict.these_tasks.pair(0, 1).interval.low, judge(task, {}, noise).pair(0, 1).interval.low);
  EXPECT_FALSE(verdict.tasks_like_these.has_value());
  EXPECT_TRUE(verdict.without.empty());
}

TEST_F(Suite, RefusesOtherEncodings) {
  EXPECT_THROW(suite({around(0.6, 0.5, "two"), task_of({{0.5, 0.6}})}), Error);
  EXPECT_THROW(suite({}), Error);
}

TEST(Settle, StopsWhereDecidedAndAsksForSeedsWhereNot) {
  Noise noise;
  const SettlePlan plan{.seeds = {4, 8}};
  const Scores scores = task_of(
      {{0.600, 0.601, 0.599, 0.600}, {0.500, 0.501, 0.500, 0.499}, {0.615, 0.590, 0.598, 0.604}}, 0.001);
  const Settled first = settle(scores, plan, {}, {}, noise);
  EXPECT_EQ(first.rounds, 1u);
  EXPECT_FALSE(first.done());
  EXPECT_EQ(first.more, (std::vector<uint8_t>{1, 0, 1}));
  EXPECT_EQ(first.pairs[0].round, 1u);
  EXPECT_EQ(first.pairs[0].pair.verdict, Verdict::better);

  const Settled second = settle(scores, plan, {}, first, noise);
  EXPECT_TRUE(second.done());  // the rounds are spent, decided or not
  EXPECT_EQ(second.pairs[0].round, 1u);
  EXPECT_EQ(second.pairs[1].round, 0u);
  EXPECT_THROW(settle(scores, plan, {}, second, noise), Error);
}

TEST(Settle, SharesTheFivePercentAmongTheRounds) {
  const SettlePlan four{.seeds = {3, 5, 8, 12}};
  EXPECT_DOUBLE_EQ(four.rule_of_a_round({}).confidence, 0.9875);
  EXPECT_THROW(SettlePlan{.seeds = {}}.rule_of_a_round({}), Error);
  EXPECT_THROW((SettlePlan{.seeds = {1, 3}}.rule_of_a_round({})), Error);
  EXPECT_THROW((SettlePlan{.seeds = {5, 3}}.rule_of_a_round({})), Error);
}

}  // namespace
}  // namespace darope::stats
