#include "runs/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "runs/bundle.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

std::string text_if_there(const fs::path& file) {
  return fs::exists(file) ? read_file(file, kMaxFileBytes) : "";
}

std::vector<fs::path> sorted_folders(const fs::path& parent) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent))
    if (entry.is_directory() && !entry.path().filename().string().starts_with("."))
      found.push_back(entry.path());  // still being unpacked
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<fs::path> runs_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) return {};
  std::vector<fs::path> found = sorted_folders(folder);
  std::erase_if(found, [](const fs::path& each) { return !fs::exists(each / "config.yaml"); });
  return found;
}

void refuse_comparison(const fs::path& folder) {
  for (const fs::path& parent : {folder / "runs", folder})
    if (const std::vector<fs::path> runs = runs_in(parent); !runs.empty())
      throw Error(fmt::format("{} holds {} run{}: give one of them, such as {}{}", folder.string(),
                              runs.size(), runs.size() == 1 ? "" : "s", runs.front().string(),
                              runs.size() == 1 ? "" : " or " + runs.back().string()));
}

bool is_finished(const fs::path& run_folder) { return fs::exists(run_folder / "run.json"); }

RunFiles read_run_files(const fs::path& folder) {
  return {.name = folder.filename().string(),
          .folder = folder,
          .config = text_if_there(folder / "config.yaml"),
          .metrics = text_if_there(folder / "metrics.jsonl"),
          .best_scores = text_if_there(folder / "results-best.jsonl"),
          .scores = text_if_there(folder / "results.jsonl"),
          .facts = read_file(folder / "run.json")};
}

void each_run(const fs::path& comparison, const std::function<void(RunFiles)>& use,
              const std::function<void(const fs::path&)>& unfinished) {
  if (fs::is_regular_file(comparison)) return read_bundle(comparison, use);
  const fs::path parent = comparison / "runs";
  if (!fs::is_directory(parent))
    throw Error(
        fmt::format("{} holds no comparison: there is no folder {}", comparison.string(), parent.string()));
  for (const fs::path& each : sorted_folders(parent)) {
    if (is_finished(each))
      use(read_run_files(each));
    else
      unfinished(each);
  }
}

}  // namespace darope
