#pragma once
#include <cstdint>
#include <string>

#include "stats/basic.h"

namespace darope::stats {

// The scores of one task: encodings x seeds x clusters. A run that was not made leaves its (encoding, seed)
// empty; a seed counts for the pairs that have it.
class Scores {
 public:
  // An Error without encodings, seeds or clusters.
  Scores(std::string task, std::vector<std::string> encodings, size_t seeds, size_t clusters);

  // An Error that names task, encoding and seed where the run has other clusters or a score that is no
  // number.
  void set(size_t encoding, size_t seed, const Values& by_cluster);

  bool has(size_t encoding, size_t seed) const { return !at(encoding, seed).empty(); }
  const Values& at(size_t encoding, size_t seed) const { return runs_[encoding * seeds_ + seed]; }
  const std::string& task() const { return task_; }
  const std::vector<std::string>& encodings() const { return encodings_; }
  size_t seeds() const { return seeds_; }
  size_t clusters() const { return clusters_; }

  // How many clusters of one size would tell as much of how clusters vary as these do.
  size_t witnesses() const { return witnesses_; }
  void set_witnesses(size_t witnesses) { witnesses_ = witnesses; }

 private:
  std::string task_;
  std::vector<std::string> encodings_;
  size_t seeds_, clusters_, witnesses_ = clusters_;
  Table runs_;
};

// One value for each cluster, such that their mean is the mean over examples and their spread is that of
// clusters: m + C/N * (sum over the cluster's examples of y - m). Of clusters of one size, their means.
// `cluster` numbers each example's cluster 0 .. C-1; an Error where one of them is empty.
Values by_cluster(const Values& examples, const std::vector<int64_t>& cluster);

// Clusters of so many examples each: the large ones decide the mean, so that fewer speak than there are. The
// degrees of freedom of the sum of their squares are Satterthwaite's, (sum n^2)^2 / sum n^4; 2 at least,
// where there are two clusters.
size_t witnesses(const std::vector<size_t>& sizes);

}  // namespace darope::stats
