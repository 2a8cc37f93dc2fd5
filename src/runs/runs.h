#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

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

bool is_finished(const std::filesystem::path& run_folder);
RunFiles read_run_files(const std::filesystem::path& run_folder);

std::vector<std::filesystem::path> runs_in(
    const std::filesystem::path& folder);  // those that have a config.yaml, by name
// An Error that names some, where `folder` holds runs and one of them is asked for.
void refuse_comparison(const std::filesystem::path& folder);

// Every finished run of a comparison, by name: `comparison` is its folder, or a bundle of it. `unfinished`
// hears of the folders that are still being written.
void each_run(const std::filesystem::path& comparison, const std::function<void(RunFiles)>& use,
              const std::function<void(const std::filesystem::path&)>& unfinished);

}  // namespace darope
