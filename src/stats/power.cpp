#include "stats/power.h"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <map>

namespace darope::stats {
namespace {

double power_quantile(double df) { return quantile(boost::math::students_t(df), kPower); }

double normal_range_cdf(double range, size_t numbers) {
  const boost::math::normal normal;
  const auto smallest_at = [&](double z) {
    return double(numbers) * pdf(normal, z) *
           std::pow(cdf(normal, z + range) - cdf(normal, z), double(numbers) - 1);
  };
  return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(smallest_at, -9.0, 9.0, 8, 1e-12);
}

// What a pair's interval will be with other numbers of seeds: its parts at their present values, a critical
// value as Tukey's.
class Plan {
 public:
  Plan(const PairVerdict& pair, size_t encodings) : pair_(pair), encodings_(double(encodings)) {
    const double range = normal_range_quantile(pair.confidence, encodings) / std::sqrt(2);
    confidence_ = 1 - 2 * cdf(complement(boost::math::normal(), range));
  }

  double detectable(size_t seeds) const {
    const double runs = pair_.runs * double(pair_.seeds) / double(seeds), variance = runs + pair_.examples;
    const double df = (encodings_ - 1) * (double(seeds) - 1);
    const double alone = (runs * std::pow(t_quantile(pair_.confidence, double(seeds) - 1), 2) +
                          pair_.examples * std::pow(normal_quantile(pair_.confidence), 2)) /
                         variance;
    const double critical = std::max(t_quantile(confidence_, df), std::sqrt(alone));
    return (critical + power_quantile(df)) * std::sqrt(variance);
  }

  // The smallest number of seeds beyond the present ones at which so much can be seen.
  Need least(double difference) const {
    if (pair_.seeds < 2) return {Need::By::unknown_with_one_seed, 0};
    size_t too_few = pair_.seeds, enough = kMostSeeds;
    if (!(detectable(enough) <= difference)) return {Need::By::out_of_reach, 0};
    while (enough - too_few > 1) {
      const size_t middle = (too_few + enough) / 2;
      (detectable(middle) <= difference ? enough : too_few) = middle;
    }
    return {Need::By::seeds, enough};
  }

 private:
  const PairVerdict& pair_;
  double encodings_, confidence_;
};

}  // namespace

double normal_range_quantile(double confidence, size_t numbers) {
  thread_local std::map<std::pair<double, size_t>, double> known;  // every pair of a table asks for the same
  const auto [found, fresh] = known.emplace(std::pair(confidence, numbers), 0);
  if (!fresh) return found->second;
  const auto miss = [&](double range) { return normal_range_cdf(range, numbers) - confidence; };
  std::uintmax_t steps = 100;
  const auto [low, high] = boost::math::tools::toms748_solve(
      miss, 1e-6, 20.0, boost::math::tools::eps_tolerance<double>(40), steps);
  return found->second = (low + high) / 2;
}

double detectable(const PairVerdict& pair) {
  if (pair.standard_error == 0) return 0;
  return (pair.critical + power_quantile(pair.df)) * pair.standard_error;
}

Need seeds_for(double difference, const PairVerdict& pair, size_t encodings) {
  if (pair.standard_error == 0) return {};
  return Plan(pair, encodings).least(difference);
}

Need need(const PairVerdict& pair, size_t encodings, double margin) {
  if (pair.verdict != Verdict::undecided || pair.standard_error == 0) return {};
  const Plan plan(pair, encodings);
  const double seen = std::abs(pair.difference);
  const Need to_differ = plan.least(seen), to_tie = plan.least(margin - seen);
  if (to_differ.by != Need::By::seeds) return to_tie;
  if (to_tie.by != Need::By::seeds) return to_differ;
  return to_differ.seeds < to_tie.seeds ? to_differ : to_tie;
}

}  // namespace darope::stats
