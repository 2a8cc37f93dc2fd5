#include "stats/simulate.h"

#include <cmath>
#include <numeric>

namespace darope::stats {
namespace {

// Of variance 1, with tails as heavy as asked for.
double draw(const Truth& truth, Random& random) {
  const double normal = random.normal();
  if (truth.tail_df == 0) return normal;
  double squares = 0;
  for (size_t i = 0; i < truth.tail_df; ++i) squares += std::pow(random.normal(), 2);
  return normal * std::sqrt(double(truth.tail_df - 2) / squares);
}

// How many examples each cluster has; unequal ones 1, 3, 5, ... around the size that is asked for.
std::vector<size_t> sizes_of(const Truth& truth) {
  std::vector<size_t> sizes(truth.examples / truth.cluster_size, truth.cluster_size);
  if (truth.unequal)
    for (size_t c = 0; c < sizes.size(); ++c) sizes[c] = 1 + 2 * (c % truth.cluster_size);
  return sizes;
}

}  // namespace

Scores simulate(const Truth& truth, size_t task, Random& random) {
  const std::vector<size_t> sizes = sizes_of(truth);
  const double examples = double(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
  const size_t clusters = sizes.size();
  std::vector<std::string> names;
  for (size_t e = 0; e < truth.encodings; ++e) names.push_back("encoding " + std::to_string(e + 1));
  Scores scores("task " + std::to_string(task + 1), names, truth.seeds, clusters);
  scores.set_witnesses(witnesses(sizes));

  Values shared(truth.seeds);
  for (double& seed : shared) seed = truth.seed_sd * random.normal();
  for (size_t e = 0; e < truth.encodings; ++e) {
    Values of_cluster(clusters), row(clusters);
    for (double& cluster : of_cluster) cluster = truth.example_sd * draw(truth, random);
    const double run_sd = truth.run_sd * (e + 1 == truth.encodings ? truth.unsteady : 1);
    for (size_t s = 0; s < truth.seeds; ++s) {
      const double run = (e == 0 ? truth.lead : 0) + shared[s] + run_sd * draw(truth, random);
      // A cluster's examples share what the encoding makes of it; only their residuals average out.
      for (size_t c = 0; c < clusters; ++c)
        row[c] = run + of_cluster[c] + truth.residual_sd / std::sqrt(double(sizes[c])) * random.normal();
      if (truth.unequal) {  // each weighs as many examples as it has, as in by_cluster()
        double mean = 0;
        for (size_t c = 0; c < clusters; ++c) mean += double(sizes[c]) / examples * row[c];
        for (size_t c = 0; c < clusters; ++c)
          row[c] = mean + double(clusters * sizes[c]) / examples * (row[c] - mean);
      }
      scores.set(e, s, row);
    }
  }
  return scores;
}

}  // namespace darope::stats
