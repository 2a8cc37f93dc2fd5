#include "stats/paired.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"

namespace darope::stats {
namespace {

// The continued fraction of the incomplete beta function (modified Lentz); x is below (a+1)/(a+b+2), where it
// converges fast.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1, d = 0, value = 1;
  for (int i = 1; i < 100'000; ++i) {
    const int half = i / 2;
    const double m = half;
    const double step = i % 2 ? -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
                              : m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 + step * d;
    c = 1 + step / c;
    d = 1 / (std::abs(d) < tiny ? tiny : d);
    c = std::abs(c) < tiny ? tiny : c;
    value *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return 1 / value;
}

}  // namespace

Values differences(const Values& a, const Values& b) {
  if (a.size() != b.size())
    throw Error("paired scores need the same examples: one side has " + std::to_string(a.size()) +
                " of them, the other " + std::to_string(b.size()));
  Values d(a.size());
  std::transform(a.begin(), a.end(), b.begin(), d.begin(), std::minus<>());
  return d;
}

PairedTest paired_t(const Values& d) {
  check(d, 2, "a paired t-test");
  PairedTest test{int64_t(d.size()), mean(d), sd(d), 0, double(d.size()) - 1, 1, 0};
  if (test.sd > 0) {
    test.t = test.mean / (test.sd / std::sqrt(double(test.n)));
    test.ln_p = ln_p_two_sided(test.t, test.df);
  } else if (test.mean != 0) {
    test.t = std::copysign(std::numeric_limits<double>::infinity(), test.mean);
    test.ln_p = -test.df * std::numbers::ln2;
  }
  test.p = std::exp(test.ln_p);
  return test;
}

double ln_p_two_sided(double t, double df) {
  const double p = 2 * cdf(complement(boost::math::students_t(df), std::abs(t)));
  if (p > 1e-250) return std::log(p);
  // p = I_x(a, b) with x = 1 / (1 + u): its logarithm term by term, as p itself loses its digits and then
  // underflows.
  const double a = df / 2, b = 0.5, u = t * t / df;
  return b * std::log(u / (1 + u)) - a * std::log1p(u) - std::log(a * boost::math::beta(a, b)) +
         std::log(beta_fraction(a, b, 1 / (1 + u)));
}

std::string p_text(double ln_p) {
  char text[32];
  if (ln_p > std::log(1e-4)) {
    std::snprintf(text, sizeof text, "%.2g", std::exp(ln_p));
  } else {
    double exponent = std::floor(ln_p / std::numbers::ln10);
    double lead = std::round(10 * std::exp(ln_p - exponent * std::numbers::ln10)) / 10;
    if (lead >= 10) {  // 9.96 was rounded up
      lead /= 10;
      ++exponent;
    }
    std::snprintf(text, sizeof text, "%.1fe%.0f", lead, exponent);
  }
  return text;
}

Values holm(const Values& ln_p) {
  check(ln_p, 0, "Holm's adjustment");
  std::vector<size_t> order(ln_p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ln_p[a] < ln_p[b]; });
  Values adjusted(ln_p.size());
  double floor = -std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < order.size(); ++k) {
    floor = std::max(floor, std::min(0.0, ln_p[order[k]] + std::log(double(order.size() - k))));
    adjusted[order[k]] = floor;
  }
  return adjusted;
}

Interval mean_interval(const Values& d, double confidence) {
  check(d, 2, "the interval of a mean difference");
  const double half = t_quantile(confidence, double(d.size()) - 1) * sd(d) / std::sqrt(double(d.size()));
  return {mean(d) - half, mean(d) + half};
}

double effect_size(const Values& d) {
  check(d, 3, "an effect size");
  const double spread = sd(d), centre = mean(d), df = double(d.size()) - 1;
  if (spread == 0) return centre == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), centre);
  const double correction = boost::math::tgamma_ratio(df / 2, (df - 1) / 2) / std::sqrt(df / 2);
  return correction * centre / spread;
}

}  // namespace darope::stats
