#pragma once
#include "runs/scores.h"

namespace darope {

// Means over examples, by axis, place and metric.
struct ScoreMean {
  ScoreKey key;
  double at = 0, mean = 0, deviation = 0;
  int64_t examples = 0;
};
std::vector<ScoreMean> means_of(const ScoreTable& scores);

std::string table_of(const std::vector<ScoreMean>& means, const std::vector<Metric>& metrics);  // for people

}  // namespace darope
