#include "runs/runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "runs/bundle.h"
#include "runs/hashes.h"

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
    if (entry.is_directory() && !is_leftover(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

RunFiles read_run_files(const RunFolder& run) {
  RunFiles files{.name = run.name(),
                 .folder = run.path(),
                 .config = text_if_there(run.config()),
                 .metrics = read_metrics_file(run),
                 .best_scores = text_if_there(run.best_scores()),
                 .scores = text_if_there(run.scores()),
                 .facts = read_file(run.facts())};
  check_hashes(files);
  run.require_version();
  return files;
}

std::string read_metrics_file(const RunFolder& run) { return text_if_there(run.metrics()); }

void unpack(const RunFiles& files, const RunFolder& run) {
  const fs::path runs = run.path().parent_path();
  make_directories(runs.parent_path());
  make_directories_in(runs.parent_path(), runs);
  const RunFolder temporary(make_temporary_folder(run.path()));
  write_file(temporary.config(), files.config);
  write_file(temporary.metrics(), files.metrics);
  if (!files.scores.empty()) write_file(temporary.scores(), files.scores);
  if (!files.best_scores.empty()) write_file(temporary.best_scores(), files.best_scores);
  write_file(temporary.facts(), files.facts);
  rename_path(temporary.path(), run.path());
}

ComparisonRecord read_record(const ComparisonFolder& folder) {
  if (!fs::exists(folder.record())) return {};
  return parse_record(read_file(folder.record()), folder.record().string());
}

void each_run(const fs::path& comparison, const std::function<void(RunFiles)>& use,
              const std::function<void(const fs::path&)>& unfinished,
              const std::function<void(const ComparisonRecord&)>& recorded) {
  if (fs::is_regular_file(comparison)) return read_bundle(comparison, use, recorded);
  const fs::path parent = ComparisonFolder(comparison).runs();
  if (!fs::is_directory(parent))
    throw Error(
        fmt::format("{} holds no comparison: there is no folder {}", comparison.string(), parent.string()));
  recorded(read_record(comparison));
  for (const fs::path& each : sorted_folders(parent)) {
    const RunFolder run(each);
    if (!run.is_finished()) {
      run.require_version();
      unfinished(each);
      continue;
    }
    use(read_run_files(run));
    for (const RunFolder& evaluation : run.evaluations()) {
      RunFiles files = read_run_files(evaluation);
      files.name = run.name() + "." + evaluation.name();
      use(std::move(files));
    }
  }
}

}  // namespace darope
