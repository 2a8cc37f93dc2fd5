#pragma once
#include "eval/evaluation.h"
#include "experiments/saved_run.h"
#include "runs/facts.h"

namespace darope {

// What evaluations that are asked for after a training read, and where their scores go.
struct Asked {
  int64_t positions = 0;  // of each document, in one pass; 0: not asked
  bool retrieval = false;
  std::filesystem::path documents = {};  // empty: the run's own
  std::filesystem::path prompts = {};    // where prompts are kept; empty: beside the run
  bool allow_quadratic = false;
};
// Reads it into `data`, and says what evaluations may need of that.
Needs open_asked(const Asked& asked, const SavedRun& run, const RunFolder& folder, Dataset& data);

// Scores of evaluations, and what they are about.
struct Found {
  std::string dataset, evaluation;
  std::string hash;  // of what was asked: scores are compared where it is the same; "" the run's own data
  std::vector<Metric> metrics;
  std::string lines;
  std::optional<int64_t> step = {};  // of the weights that another program read
};
Found found_by(const Evaluation& evaluation, const Dataset& data, std::string lines);
// What another program found, in a file as docs/benchmarks.md describes it.
Found read_found(const std::filesystem::path& file);

// Writes the scores of a checkpoint into a folder of the run's. Whoever else writes there is refused.
RunFolder keep(const SavedRun& run, const RunFolder& folder, const Found& found, const std::string& variant,
               const std::optional<RunFacts>& facts = {});
// The same for an evaluation of its own, which stands beside those of other models in a report where the run
// is finished and the weights are its last ones. `changed`: these are not the run's own settings.
RunFolder keep_apart(const SavedRun& run, const RunFolder& folder, const Found& found,
                     const std::string& variant, bool changed);

}  // namespace darope
