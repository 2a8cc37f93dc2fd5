#pragma once
#include "stats/components.h"
#include "stats/noise.h"

namespace darope::stats {

// One task, ready to be summed with others: the estimate of every pair, and the same estimate again in tables
// that are drawn as this one was but without any true difference (a parametric bootstrap).
struct TaskEstimate {
  struct Pair {
    double difference = 0;
    double runs = 0, examples = 0;  // the two parts of its variance
    double runs_df = 0, examples_df = 0;
    size_t seeds = 0;  // shared ones
  };
  size_t encodings = 0;
  std::vector<Pair> pairs;                    // (i, j) with i < j, row by row
  std::vector<uint8_t> apart;                 // encodings whose runs vary much more than the others'
  std::vector<float> differences, variances;  // of the tables drawn again: [repeats x pairs]
};

// `task` is its place in the suite: tasks are drawn independently of each other.
TaskEstimate estimate(const TaskParts& parts, size_t task, Noise& noise);

}  // namespace darope::stats
