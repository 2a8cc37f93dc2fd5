#include "stats/simulate.h"

namespace darope::stats {

Scores simulate(const Truth& truth, size_t task, Random& random) {
  const size_t clusters = truth.examples / truth.cluster_size;
  std::vector<std::string> names;
  for (size_t e = 0; e < truth.encodings; ++e) names.push_back("encoding " + std::to_string(e + 1));
  Scores scores("task " + std::to_string(task + 1), names, truth.seeds, clusters);

  // A cluster's examples share what the encoding makes of it; only their residuals average out.
  const double residual_sd = truth.residual_sd / std::sqrt(double(truth.cluster_size));
  Values shared(truth.seeds);
  for (double& seed : shared) seed = truth.seed_sd * random.normal();
  for (size_t e = 0; e < truth.encodings; ++e) {
    Values of_cluster(clusters), row(clusters);
    for (double& cluster : of_cluster) cluster = truth.example_sd * random.normal();
    const double run_sd = truth.run_sd * (e + 1 == truth.encodings ? truth.unsteady : 1);
    for (size_t s = 0; s < truth.seeds; ++s) {
      const double run = (e == 0 ? truth.lead : 0) + shared[s] + run_sd * random.normal();
      for (size_t c = 0; c < clusters; ++c) row[c] = run + of_cluster[c] + residual_sd * random.normal();
      scores.set(e, s, row);
    }
  }
  return scores;
}

}  // namespace darope::stats
