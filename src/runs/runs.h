#pragma once
#include <functional>

#include "runs/record.h"
#include "runs/run_folder.h"

namespace darope {

// What a finished or diverged run leaves, without its weights: the texts of its files, empty where there is
// none.
struct RunFiles {
  std::string name;              // of its folder
  std::filesystem::path folder;  // where it was found; for a run of a bundle, BUNDLE/runs/NAME
  std::string config, metrics, best_scores, scores,
      facts;  // config.yaml, metrics.jsonl, results-best.jsonl, results.jsonl, run.json
  bool bundled = false;
};

RunFiles read_run_files(const RunFolder& run);  // an Error where one is not what the run wrote
std::string read_metrics_file(const RunFolder& run);
void unpack(const RunFiles& files, const RunFolder& run);  // whole, or not at all

// Every finished run of a comparison, by name, each with its evaluations behind it as RUN.EVALUATION:
// `comparison` is its folder, or a bundle of it. `unfinished` hears of the folders that are still being
// written, `recorded` of the comparison's record where it has one.
void each_run(const std::filesystem::path& comparison, const std::function<void(RunFiles)>& use,
              const std::function<void(const std::filesystem::path&)>& unfinished,
              const std::function<void(const ComparisonRecord&)>& recorded);

// A folder's own; empty where there is none.
ComparisonRecord read_record(const ComparisonFolder& folder);

}  // namespace darope
