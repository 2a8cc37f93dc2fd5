#pragma once
#include "stats/scores.h"

namespace darope::stats {

// What the scores of one task say about the difference first - second: two-way crossed random effects, seeds
// and clusters, over the seeds both have.
struct PairParts {
  size_t first = 0, second = 0;
  size_t seeds = 0;       // both have; without any the rest is 0
  double difference = 0;  // of the means
  double runs = 0;        // variance of one seed's mean difference (seeds - 1 degrees of freedom)
  double clusters = 0;    // mean square of clusters, as a variance of `difference` (clusters - 1)
  double residual = 0;    // mean square of seed x cluster, likewise: the part of it that `runs` already has

  double examples() const { return clusters > residual ? clusters - residual : 0; }
};

struct TaskParts {
  size_t encodings = 0, seeds = 0, clusters = 0;  // the last as many as count
  std::vector<uint8_t> has;                       // encodings x seeds
  std::vector<PairParts> pairs;                   // (i, j) with i < j, row by row
};

// An Error where a task has several clusters in name but one in fact: nothing tells how examples vary.
TaskParts components(const Scores& scores);
// Blocks without examples in them, such as the tasks of a suite: rows are encodings, columns blocks.
TaskParts components(const Table& means);

}  // namespace darope::stats
