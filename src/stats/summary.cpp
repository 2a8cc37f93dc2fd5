#include "stats/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"

namespace darope::stats {
namespace {

double proportion(int64_t hits, int64_t trials) {
  if (trials < 1 || hits < 0 || hits > trials)
    throw Error(std::to_string(hits) + " hits in " + std::to_string(trials) + " trials is not a proportion");
  return double(hits) / double(trials);
}

}  // namespace

Interval wilson(int64_t hits, int64_t trials, double confidence) {
  const double p = proportion(hits, trials), n = double(trials), z = normal_quantile(confidence);
  const double scale = 1 / (1 + z * z / n), centre = scale * (p + z * z / (2 * n));
  const double half = scale * z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {hits == 0 ? 0 : centre - half, hits == trials ? 1 : centre + half};
}

Interval wald(int64_t hits, int64_t trials, double confidence) {
  const double p = proportion(hits, trials),
               half = normal_quantile(confidence) * std::sqrt(p * (1 - p) / double(trials));
  return {std::max(0.0, p - half), std::min(1.0, p + half)};
}

double chance_normalised(double accuracy, double chance) {
  check({accuracy, chance}, 2, "a chance-normalised accuracy");
  if (chance < 0 || chance >= 1)
    throw Error("a chance of " + std::to_string(chance) + " is not at least 0 and below 1");
  return (accuracy - chance) / (1 - chance);
}

Values ranks(const Values& scores, bool higher_better) {
  check(scores, 1, "a ranking");
  const auto ahead = [&](double a, double b) { return higher_better ? a > b : a < b; };
  Values result;
  for (const double score : scores) {
    double before = 0, level = 0;
    for (const double other : scores) {
      before += ahead(other, score);
      level += other == score;
    }
    result.push_back(before + (level + 1) / 2);
  }
  return result;
}

std::vector<MeanRank> mean_ranks(const Table& scores, bool higher_better) {
  check(scores, 1, 1, "mean ranks");
  std::vector<MeanRank> result;
  Table by_method(scores.front().size());
  for (const Values& dataset : scores) {
    const Values order = ranks(dataset, higher_better);
    for (size_t m = 0; m < order.size(); ++m) by_method[m].push_back(order[m]);
  }
  for (const Values& own : by_method) {
    result.push_back({mean(own), std::nullopt});
    if (own.size() > 1) result.back().standard_error = sd(own) / std::sqrt(double(own.size()));
  }
  return result;
}

double propagated_seed_sd(const Table& scores) {
  check(scores, 1, 2, "a seed spread");
  double variance = 0;
  for (const Values& task : scores) variance += sd(task) * sd(task);
  return std::sqrt(variance) / double(scores.size());
}

}  // namespace darope::stats
