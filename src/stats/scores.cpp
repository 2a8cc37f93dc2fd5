#include "stats/scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace darope::stats {

Scores::Scores(std::string task, std::vector<std::string> encodings, size_t seeds, size_t clusters)
    : task_(std::move(task)), encodings_(std::move(encodings)), seeds_(seeds), clusters_(clusters) {
  if (encodings_.empty() || seeds_ == 0 || clusters_ == 0)
    throw Error(task_ + ": a comparison needs an encoding, a seed and an example");
  runs_.resize(encodings_.size() * seeds_);
}

void Scores::set(size_t encoding, size_t seed, const Values& by_cluster) {
  const std::string where = task_ + ", " + encodings_.at(encoding) + ", seed " + std::to_string(seed);
  if (by_cluster.size() != clusters_)
    throw Error(where + ": scores of " + std::to_string(by_cluster.size()) +
                " clusters, where the task has " + std::to_string(clusters_));
  check(by_cluster, 1, where);
  runs_.at(encoding * seeds_ + seed) = by_cluster;
}

Values by_cluster(const Values& examples, const std::vector<int64_t>& cluster) {
  check(examples, 1, "scores by cluster");
  if (cluster.size() != examples.size())
    throw Error("scores by cluster: " + std::to_string(examples.size()) + " scores and " +
                std::to_string(cluster.size()) + " clusters");
  const int64_t last = *std::max_element(cluster.begin(), cluster.end());
  if (*std::min_element(cluster.begin(), cluster.end()) < 0 || last >= int64_t(examples.size()))
    throw Error("scores by cluster: clusters are numbered from 0 without gaps");
  const double centre = mean(examples);
  Values sums(size_t(last) + 1);
  std::vector<bool> found(sums.size());
  for (size_t i = 0; i < examples.size(); ++i) {
    sums[size_t(cluster[i])] += examples[i] - centre;
    found[size_t(cluster[i])] = true;
  }
  if (std::find(found.begin(), found.end(), false) != found.end())
    throw Error("scores by cluster: clusters are numbered from 0 without gaps");
  for (double& sum : sums) sum = centre + sum * double(sums.size()) / double(examples.size());
  return sums;
}

size_t witnesses(const std::vector<size_t>& sizes) {
  double squares = 0, fourths = 0;
  for (const size_t size : sizes) {
    const double square = std::pow(double(size), 2);
    squares += square;
    fourths += square * square;
  }
  const double count = std::floor(squares * squares / fourths + 1e-9);
  return std::clamp(size_t(count), std::min<size_t>(2, sizes.size()), sizes.size());
}

}  // namespace darope::stats
