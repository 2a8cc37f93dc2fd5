#include "stats/paired.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace darope::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();
const Values a = {0.61, 0.55, 0.72, 0.48, 0.66, 0.59, 0.70, 0.53},
             b = {0.58, 0.57, 0.65, 0.41, 0.60, 0.61, 0.62, 0.50};

Values ramp() {  // a thousand differences with mean 0.0505
  Values d;
  for (int i = 1; i <= 1000; ++i) d.push_back(i / 1000.0 - 0.45);
  return d;
}

TEST(PairedT, AgreesWithScipy) {  // scipy.stats.ttest_rel and ttest_1samp
  const PairedTest small = paired_t(differences(a, b));
  EXPECT_EQ(small.n, 8);
  EXPECT_EQ(small.df, 7);
  EXPECT_NEAR(small.t, 2.65758918365091, 1e-12);
  EXPECT_NEAR(small.p, 0.032580882888251006, 1e-14);
  EXPECT_NEAR(small.ln_p, std::log(0.032580882888251006), 1e-12);

  const PairedTest large = paired_t(ramp());
  EXPECT_NEAR(large.t, 5.529233904658721, 1e-10);
  EXPECT_NEAR(large.p, 4.105591579969284e-08, 1e-18);
  EXPECT_NEAR(large.sd, 0.2888194360957494, 1e-14);
}

TEST(PairedT, SwappingSidesChangesOnlyTheSign) {
  const PairedTest one = paired_t(differences(a, b)), other = paired_t(differences(b, a));
  EXPECT_DOUBLE_EQ(one.t, -other.t);
  EXPECT_DOUBLE_EQ(one.p, other.p);
}

TEST(PairedT, LogarithmIsRightFromTheCentreToTheFarTail) {  // 50 digits: mpmath's incomplete beta function
  struct Case {
    double t, df, ln_p;
  };
  for (const Case& c :
       {Case{0, 5, 0}, Case{0.5, 3, -0.428557755371922}, Case{2.5, 10, -3.4594566431085},
        Case{-2.5, 10, -3.4594566431085}, Case{12, 7, -11.9657478797145}, Case{3, 1e7, -5.91457657862783},
        Case{35, 1023, -406.093235304718}, Case{33, 1e6, -547.926405952634},
        Case{300, 199, -611.461251787911}, Case{40, 57781, -793.025656274179},
        Case{1e6, 99, -1142.80298914895}, Case{60, 8398, -1502.12014889193}})
    EXPECT_NEAR(ln_p_two_sided(c.t, c.df), c.ln_p, 1e-12 * (1 + std::abs(c.ln_p)) + 1e-11)
        << "t = " << c.t << ", df = " << c.df;
}

TEST(PairedT,
     LogarithmIsSmoothWhereTheMethodChanges) {  // and through the range where p itself would lose its digits
  const double df = 2000;
  double last = ln_p_two_sided(33, df), last_step = 0;
  for (double t = 33.01; t < 50; t += 0.01) {
    const double now = ln_p_two_sided(t, df), step = now - last;
    ASSERT_LT(step, 0) << t;
    if (last_step != 0) {
      ASSERT_NEAR(step, last_step, 2e-4) << t;
    }
    last = now;
    last_step = step;
  }
}

TEST(PairedT, DegenerateInput) {
  const PairedTest same = paired_t({0, 0, 0});
  EXPECT_EQ(same.t, 0);
  EXPECT_EQ(same.p, 1);
  const PairedTest constant = paired_t(Values(11, -0.1));  // every example agrees: never p = 0
  EXPECT_EQ(constant.t, -kInfinity);
  EXPECT_NEAR(constant.p, 1.0 / 1024, 1e-15);
  EXPECT_NEAR(constant.ln_p, -10 * std::log(2), 1e-12);
  EXPECT_THROW(paired_t({}), Error);
  EXPECT_THROW(paired_t({1}), Error);
  EXPECT_THROW(paired_t({1, kNaN, 2}), Error);
  EXPECT_THROW(paired_t({1, kInfinity, 2}), Error);
  EXPECT_THROW(differences({1, 2}, {1}), Error);
}

TEST(PairedT, TextOfP) {
  EXPECT_EQ(p_text(0), "1");
  EXPECT_EQ(p_text(std::log(0.0312)), "0.031");
  EXPECT_EQ(p_text(std::log(4.13e-8)), "4.1e-8");
  EXPECT_EQ(p_text(std::log(9.97e-8)), "1.0e-7");
  EXPECT_EQ(p_text(-1502.12014889193), "4.3e-653");  // -1502.12 / ln 10 = -652.362
}

TEST(Holm, KnownCase) {
  const Values p = {0.01, 0.04, 0.03, 0.005}, expected = {0.03, 0.06, 0.06, 0.02};
  Values ln_p;
  for (const double each : p) ln_p.push_back(std::log(each));
  const Values adjusted = holm(ln_p);
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(std::exp(adjusted[i]), expected[i], 1e-15) << i;
}

TEST(Holm, NeverAboveOneNeverBelowThePlainP) {
  EXPECT_EQ(holm({std::log(0.7), std::log(0.9)}), (Values{0, 0}));
  EXPECT_EQ(holm({-3}), (Values{-3}));
  EXPECT_TRUE(holm({}).empty());
  EXPECT_THROW(holm({-1, kNaN}), Error);
}

TEST(Holm, TellsTinyOnesApart) {  // both p are 0 as doubles
  const Values adjusted = holm({-1502.12, -793.03, -0.1});
  EXPECT_NEAR(adjusted[0], -1502.12 + std::log(3), 1e-9);
  EXPECT_NEAR(adjusted[1], -793.03 + std::log(2), 1e-9);
  EXPECT_NEAR(adjusted[2], -0.1, 1e-12);
}

TEST(MeanInterval, AgreesWithScipy) {
  const Interval usual = mean_interval(differences(a, b)), wide = mean_interval(differences(a, b), 0.99);
  EXPECT_NEAR(usual.low, 0.004133891355279848, 1e-13);
  EXPECT_NEAR(usual.high, 0.07086610864472018, 1e-13);
  EXPECT_NEAR(wide.low, -0.011879574713034878, 1e-13);
  EXPECT_NEAR(wide.high, 0.0868795747130349, 1e-13);
  EXPECT_THROW(mean_interval({1}), Error);
  EXPECT_THROW(mean_interval({1, 2}, 1.0), Error);
}

TEST(MeanInterval, TouchesZeroExactlyWhereTheTestSaysSo) {  // the two are one statement
  const Values d = differences(a, b);
  EXPECT_NEAR(mean_interval(d, 1 - paired_t(d).p).low, 0, 1e-12);
}

TEST(EffectSize, AgreesWithTheGammaFormula) {
  EXPECT_NEAR(effect_size(differences(a, b)), 0.8345551559968899, 1e-12);  // 0.9396 uncorrected
  EXPECT_NEAR(effect_size(ramp()), 0.17471842164326143, 1e-12);
  EXPECT_EQ(effect_size({0, 0, 0}), 0);
  EXPECT_EQ(effect_size({-1, -1, -1}), -kInfinity);
  EXPECT_THROW(effect_size({1, 2}), Error);
  Values many(60'000, 1);
  for (size_t i = 0; i < many.size(); i += 2) many[i] = 3;
  EXPECT_NEAR(effect_size(many), 2, 1e-4);  // the correction is gone
}

}  // namespace
}  // namespace darope::stats
