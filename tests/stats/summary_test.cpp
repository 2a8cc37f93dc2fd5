#include "stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "stats/paired.h"
#include "stats/within.h"

namespace darope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const Table scores = {
    {2.1, 3.4, 1.9, 4.4, 2.8, 3.3}, {2.4, 3.3, 2.6, 4.9, 3.0, 3.9}, {1.7, 3.0, 1.8, 4.6, 2.2, 3.1}};

TEST(Basic, Quantiles) {  // scipy.stats.t.ppf, norm.ppf
  EXPECT_NEAR(t_quantile(0.95, 1), 12.706204736174694, 1e-10);
  EXPECT_NEAR(t_quantile(0.95, 7), 2.364624251592784, 1e-12);
  EXPECT_NEAR(t_quantile(0.99, 57781), 2.575914395542862, 1e-11);
  EXPECT_NEAR(normal_quantile(0.95), 1.959963984540054, 1e-14);
}

TEST(Basic, SpreadOfOneValueIsRefusedAndRoundingIsNoSpread) {
  EXPECT_THROW(sd({1}), Error);
  EXPECT_THROW(mean({}), Error);
  EXPECT_EQ(sd(Values(7, 0.1)), 0);
  EXPECT_EQ(sd({0.1 + 0.2, 0.3, 0.3}), 0);
  EXPECT_NEAR(sd({1, 2, 3, 4}), std::sqrt(5.0 / 3), 1e-15);
}

TEST(Within, AgreesWithNumpyAndScipy) {
  const Values own = cousineau_morey(scores);
  const Values expected = {0.22248145569258765, 0.199883132656641, 0.18902793073655533};
  for (size_t m = 0; m < 3; ++m) EXPECT_NEAR(own[m], expected[m], 1e-13) << m;
  EXPECT_NEAR(loftus_masson(scores), 0.17706085664477322, 1e-13);
}

TEST(Within, SharedSpreadBetweenExamplesDoesNotCount) {
  Table shifted = scores;
  for (Values& method : shifted)
    for (size_t i = 0; i < method.size(); ++i) method[i] += 100.0 * double(i);
  for (size_t m = 0; m < 3; ++m) EXPECT_NEAR(cousineau_morey(shifted)[m], cousineau_morey(scores)[m], 1e-11);
  EXPECT_NEAR(loftus_masson(shifted), loftus_masson(scores), 1e-11);
}

TEST(Within, TwoMethodsGiveThePairedIntervalOverRootTwo) {
  const Table two = {scores[0], scores[1]};
  const Interval paired = mean_interval(differences(scores[0], scores[1]));
  const double expected = (paired.high - paired.low) / 2 / std::sqrt(2);
  EXPECT_NEAR(cousineau_morey(two)[0], expected, 1e-13);
  EXPECT_NEAR(cousineau_morey(two)[1], expected, 1e-13);
  EXPECT_NEAR(loftus_masson(two), expected, 1e-13);
}

TEST(Within, PooledWidthIsTheRootMeanSquareOfTheOwn) {  // up to their t quantiles
  double sum = 0;
  for (const double width : cousineau_morey(scores)) sum += std::pow(width / t_quantile(0.95, 5), 2) / 3;
  EXPECT_NEAR(loftus_masson(scores) / t_quantile(0.95, 10), std::sqrt(sum), 1e-13);
}

TEST(Within, DegenerateInput) {
  EXPECT_THROW(cousineau_morey({{1, 2, 3}}), Error);
  EXPECT_THROW(loftus_masson({{1}, {2}}), Error);
  EXPECT_THROW(loftus_masson({{1, 2}, {2, kNaN}}), Error);
  EXPECT_THROW(cousineau_morey({{1, 2}, {2, 3, 4}}), Error);
  EXPECT_EQ(loftus_masson({{1, 2}, {1, 2}}), 0);
}

TEST(Proportion, WilsonAgreesWithScipy) {  // scipy.stats.binomtest(...).proportion_ci(method="wilson")
  struct Case {
    int64_t hits, trials;
    double low, high;
  };
  for (const Case& c :
       {Case{705, 800, 0.8569909988900399, 0.9018651080031319}, Case{0, 10, 0, 0.27753279986288926},
        Case{10, 10, 0.7224672001371109, 1}, Case{3, 7, 0.1582198552514697, 0.7495416354723428},
        Case{1, 1, 0.20654931437723745, 1}}) {
    EXPECT_NEAR(wilson(c.hits, c.trials).low, c.low, 1e-14);
    EXPECT_NEAR(wilson(c.hits, c.trials).high, c.high, 1e-14);
  }
  EXPECT_NEAR(wilson(3, 7, 0.99).low, 0.11637368051613817, 1e-14);
  EXPECT_EQ(wilson(0, 10).low, 0);
  EXPECT_EQ(wilson(10, 10).high, 1);
}

TEST(Proportion, WaldAndBadCounts) {
  EXPECT_NEAR(wald(705, 800).low, 0.8588334139724, 1e-12);
  EXPECT_NEAR(wald(705, 800).high, 0.9036665860276, 1e-12);
  EXPECT_EQ(wald(1, 2).low, 0);
  EXPECT_THROW(wilson(0, 0), Error);
  EXPECT_THROW(wilson(-1, 5), Error);
  EXPECT_THROW(wald(6, 5), Error);
}

TEST(Summary, ChanceNormalised) {
  EXPECT_DOUBLE_EQ(chance_normalised(0.5, 0.5), 0);
  EXPECT_DOUBLE_EQ(chance_normalised(1, 0.1), 1);
  EXPECT_DOUBLE_EQ(chance_normalised(0.6, 0.2), 0.5);
  EXPECT_LT(chance_normalised(0.05, 0.1), 0);
  EXPECT_THROW(chance_normalised(0.5, 1), Error);
  EXPECT_THROW(chance_normalised(kNaN, 0.5), Error);
}

TEST(Summary, RanksShareTies) {  // scipy.stats.rankdata
  EXPECT_EQ(ranks({3, 1, 2, 2, 5, 2}, false), (Values{5, 1, 3, 3, 6, 3}));
  EXPECT_EQ(ranks({3, 1, 2, 2, 5, 2}, true), (Values{2, 6, 4, 4, 1, 4}));
  EXPECT_THROW(ranks({1, kNaN}, true), Error);
}

TEST(Summary, MeanRanksOverFourDatasets) {
  const auto result = mean_ranks({{1, 2, 3}, {2, 1, 3}, {1, 3, 2}, {1.5, 1.5, 4}}, false);
  ASSERT_EQ(result.size(), 3u);
  EXPECT_DOUBLE_EQ(result[0].mean, 1.375);
  EXPECT_DOUBLE_EQ(result[1].mean, 1.875);
  EXPECT_DOUBLE_EQ(result[2].mean, 2.75);
  EXPECT_NEAR(*result[0].standard_error, 0.23935678, 1e-8);
  EXPECT_NEAR(*result[1].standard_error, 0.42695628, 1e-8);
  EXPECT_NEAR(*result[2].standard_error, 0.25, 1e-12);
  EXPECT_FALSE(mean_ranks({{1, 2}}, true)[0].standard_error.has_value());
}

TEST(Summary, SeedSpreadPropagates) {
  EXPECT_NEAR(propagated_seed_sd({{0.9, 0.8, 0.85}, {0.5, 0.7, 0.3}}), 0.1030776406404415, 1e-13);
  EXPECT_NEAR(propagated_seed_sd({{1, 2}, {1, 2}, {1, 2}, {1, 2}}), sd({1, 2}) / 2,
              1e-15);  // four alike: over the root of four
  EXPECT_THROW(propagated_seed_sd({{0.9}, {0.5}}), Error);
}

}  // namespace
}  // namespace darope::stats
