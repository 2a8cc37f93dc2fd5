#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "runs/finished_run.h"

namespace darope::report {

// A run of a comparison. Of the metric that is compared on, every example has its cluster.
struct Run : FinishedRun {  // `encoding` is its name in this report
  std::filesystem::path folder;
  std::string typed;       // the encoding with its options, as typed
  std::string weights_of;  // the run whose weights were scored; "" where this one was trained
  std::string config;      // as YAML
  std::string text;        // of its facts: equal for copies of one run
  bool bundled = false;    // `folder` is inside a bundle
};

// An encoding whose options differ between datasets: as it was typed for each.
struct Variants {
  std::string encoding;
  std::map<std::string, std::string> by_dataset;
};

// All runs of a comparison. The lists hold every name that occurs, each once.
struct Gathered {
  std::vector<std::filesystem::path> sources;  // folders and bundles
  std::vector<Run> runs;
  std::vector<std::string> datasets, encodings;
  std::vector<int64_t> seeds;
  std::vector<Variants> variants;
  ComparisonRecord record;         // what was fixed before the runs, of all sources together
  std::vector<std::string> notes;  // what is missing, unfinished or diverged, one sentence each
  std::shared_ptr<const Gathered> evaluations = nullptr;  // what models were asked after their end, each as a
                                                          // dataset; null where nothing was

  std::map<std::tuple<std::string, std::string, int64_t>, size_t> places;  // of runs, by what find() asks
  void index();  // makes those anew, once runs have gone or have other names
  const Run* find(const std::string& dataset, const std::string& encoding, int64_t seed) const;
  std::vector<const Run*> runs_of(const std::string& dataset) const;  // as they stand in `runs`
  std::vector<const Run*> runs_of(const std::string& dataset, const std::string& encoding) const;
};

// What must be equal between runs, from a run's config and facts.
using SettingsOf = std::function<std::string(const std::string& config, const RunFacts& facts)>;

std::string without_options(const std::string& encoding);  // "rope" of rope:base=10000

// Whether runs that no round of a settled comparison has judged yet are left out, as in all that is shown.
enum class Include { kAllRuns, kJudgedRuns };

// Reads `<folder>/runs/*` and bundles; copies of one run count once. An Error that says which runs and what:
// runs of one dataset and seed that began from other shared weights, saw other data or were configured
// differently beyond the encoding; two runs of the same dataset, encoding and seed; a file that cannot be
// read. Datasets are joined by what an encoding is called without options, so that each may have its own best
// options: unless a dataset holds several of that name, which keep theirs. A name that means the same
// everywhere is shown with its options. Encodings stand in the given order of names; a variant (rope:base=1,
// rope-10k) follows the name it begins with, and those that none fits come last. Without `settings`, configs
// are told apart by the hash that each run recorded.
Gathered gather(const std::vector<std::filesystem::path>& comparisons,
                const std::vector<std::string>& order = {}, const SettingsOf& settings = {},
                Include include = Include::kJudgedRuns);

}  // namespace darope::report
