#pragma once
#include "base/random.h"
#include "stats/scores.h"

namespace darope::stats {

// A task whose runs have the given means (rows are encodings, columns seeds) and whose examples swing around
// them: `swing` times a normal number for each encoding and example.
inline Scores task_of(const Table& run_means, double swing = 0, size_t clusters = 100,
                      const std::string& name = "task") {
  std::vector<std::string> names;
  for (size_t e = 0; e < run_means.size(); ++e) names.push_back(std::string(1, char('a' + e)));
  Scores scores(name, names, run_means.front().size(), clusters);
  for (size_t e = 0; e < run_means.size(); ++e) {
    Values of_cluster;
    Random random(1, "tables/" + name, e);
    for (size_t c = 0; c < clusters; ++c) of_cluster.push_back(swing * random.normal());
    for (size_t s = 0; s < run_means[e].size(); ++s) {
      Values row = of_cluster;
      for (double& value : row) value += run_means[e][s];
      scores.set(e, s, row);
    }
  }
  return scores;
}

}  // namespace darope::stats
