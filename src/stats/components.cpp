#include "stats/components.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace darope::stats {
namespace {

// Variance with n-1. What is left of equal numbers by rounding is no variance.
double variance(const Values& values, double scale) {
  if (values.size() < 2) return 0;
  double centre = 0, sum = 0;
  for (const double value : values) centre += value / double(values.size());
  for (const double value : values) sum += (value - centre) * (value - centre);
  const double result = sum / double(values.size() - 1), rounding = 1e-13 * scale;
  return result > rounding * rounding ? result : 0;
}

PairParts pair_parts(const Scores& scores, size_t first, size_t second) {
  PairParts pair{.first = first, .second = second};
  Values by_seed, by_cluster(scores.clusters());
  double squares = 0, scale = 0;
  for (size_t s = 0; s < scores.seeds(); ++s) {
    if (!scores.has(first, s) || !scores.has(second, s)) continue;
    const Values &a = scores.at(first, s), &b = scores.at(second, s);
    double sum = 0;
    for (size_t c = 0; c < a.size(); ++c) {
      const double d = a[c] - b[c];
      sum += d;
      squares += d * d;
      by_cluster[c] += d;
      scale = std::max({scale, std::abs(a[c]), std::abs(b[c])});
    }
    by_seed.push_back(sum / double(a.size()));
  }
  pair.seeds = by_seed.size();
  if (pair.seeds == 0) return pair;
  const double seeds = double(pair.seeds), clusters = double(scores.clusters());
  for (double& value : by_cluster) value /= seeds;
  pair.difference = mean(by_seed);
  if (std::abs(pair.difference) <= 1e-13 * scale) pair.difference = 0;  // of equal scores, by rounding
  pair.runs = variance(by_seed, scale);
  if (scores.clusters() < 2) return pair;
  const double of_clusters = variance(by_cluster, scale);
  pair.clusters = of_clusters / clusters;
  if (pair.seeds < 2) return pair;
  const double total = squares - seeds * clusters * pair.difference * pair.difference;
  const double residual = total - clusters * (seeds - 1) * pair.runs - seeds * (clusters - 1) * of_clusters;
  pair.residual = std::max(0.0, residual) / ((seeds - 1) * (clusters - 1)) / (seeds * clusters);
  return pair;
}

}  // namespace

TaskParts components(const Scores& scores) {
  const size_t encodings = scores.encodings().size();
  TaskParts parts{.encodings = encodings,
                  .seeds = scores.seeds(),
                  .clusters = scores.witnesses(),
                  .has = {},
                  .pairs = {}};
  for (size_t e = 0; e < encodings; ++e)
    for (size_t s = 0; s < scores.seeds(); ++s) parts.has.push_back(scores.has(e, s));
  for (size_t a = 0; a < encodings; ++a)
    for (size_t b = a + 1; b < encodings; ++b) parts.pairs.push_back(pair_parts(scores, a, b));
  return parts;
}

TaskParts components(const Table& means) {
  check(means, 1, 1, "means of blocks");
  std::vector<std::string> names(means.size(), "");
  Scores blocks("blocks", names, means.front().size(), 1);
  for (size_t e = 0; e < means.size(); ++e)
    for (size_t b = 0; b < means[e].size(); ++b) blocks.set(e, b, {means[e][b]});
  return components(blocks);
}

}  // namespace darope::stats
