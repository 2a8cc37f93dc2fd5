#include "experiments/past.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "runs/runs.h"
#include "train/checkpoint_dir.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// What was left to the machine is said now, or the other way round; check_data() sees to it that the type of number stays.
bool named(const Difference& d) { return (d.key == "device" || d.key == "dtype") && (d.before == "auto" || d.after == "auto"); }

bool always_may_change(const std::string& key) {
  return key == "name" || key == "dump_dir" || key == "threads" || key == "graph" || key.starts_with("checkpoint.") ||
         key.starts_with("logging.");
}

bool has_checkpoints(const fs::path& run) { return !list_checkpoints(run / "checkpoints").empty(); }
bool begins_elsewhere(const RunConfig& config, const Resume& resume) { return !resume.from.empty() && !has_checkpoints(config.dump_dir); }

fs::path whole(const fs::path& path) {
  const fs::path out = fs::weakly_canonical(path);
  return out.has_filename() ? out : out.parent_path();      // no slash at its end
}
fs::path run_of(const fs::path& checkpoint) { return whole(checkpoint).parent_path().parent_path(); }      // RUN/checkpoints/STEP
std::string begun_from(const fs::path& checkpoint) { return fmt::format("begun from {}\n", whole(checkpoint).string()); }

std::string changes_of(const fs::path& run, const RunConfig& config, const std::vector<std::string>& may_change = {}) {
  const fs::path file = run / "config.yaml";
  return fs::exists(file) ? changes(read_file(file), file, config, may_change) : "";
}

}  // namespace

std::string changes(const std::string& text, const fs::path& file, const RunConfig& config, const std::vector<std::string>& may_change) {
  const auto allowed = [&](const std::string& key) {
    return always_may_change(key) || std::any_of(may_change.begin(), may_change.end(), [&](const std::string& each) { return key == each || key.starts_with(each + "."); });
  };
  RunConfig before;
  read_yaml(list_fields(before), text, file.string());
  std::string changed;
  for (const Difference& d : differences(before, config))
    if (!allowed(d.key) && !named(d)) changed += fmt::format("{}{} was {} and is now {}", changed.empty() ? "" : ", ", d.key, d.before, d.after);
  return changed;
}

void check_same_config(const std::string& text, const fs::path& file, const RunConfig& config, const std::vector<std::string>& may_change) {
  const std::string changed = changes(text, file, config, may_change);
  if (!changed.empty())
    throw Error(fmt::format("{} belongs to another run ({}): choose another dump_dir, or remove it; 'darope train' takes --allow-config-change=KEY",
                            file.parent_path().string(), changed));
}

void check_past(const RunConfig& config, const Resume& resume) {
  const fs::path folder = config.dump_dir;
  const auto check_config = [&](const fs::path& run) {
    if (const fs::path file = run / "config.yaml"; fs::exists(file)) check_same_config(read_file(file), file, config, resume.may_change);
  };
  check_config(folder);
  if (is_finished(folder) && !has_checkpoints(folder) && !changes_of(folder, config).empty())
    throw Error(fmt::format("{} is finished and holds no checkpoint to go on from with other settings: choose another dump_dir", folder.string()));
  if (resume.from.empty()) return;
  if (has_checkpoints(folder)) {
    if (history(folder).starts_with(begun_from(resume.from))) return;
    throw Error(fmt::format("--resume={}: {} has checkpoints of its own and was not begun from this one: choose another dump_dir", resume.from.string(), folder.string()));
  }
  if (!fs::is_directory(resume.from)) throw Error(fmt::format("--resume={}: neither auto, must, never nor the folder of a checkpoint", resume.from.string()));
  if (const auto problem = checkpoint_problem(resume.from, Verify::kHashes)) throw Error(fmt::format("--resume={}: {}", resume.from.string(), *problem));
  check_config(run_of(resume.from));
}

void check_data(const RunConfig& config, const Resume& resume, const std::string& dtype, const std::string& data_order) {
  const fs::path run = begins_elsewhere(config, resume) ? run_of(resume.from) : fs::path(config.dump_dir), file = run / "manifest.json";
  if (!fs::exists(file)) return;
  const Json manifest = parse_json(read_file(file), file.string());
  // `auto` may mean another type on another machine; a run goes on in the one it began with.
  if (const std::string before = manifest.value("dtype", dtype); before != dtype)
    throw Error(fmt::format("{} was begun in {} and would go on in {} here: give dtype={}", run.string(), before, dtype, before));
  if (changes_of(run, config).empty() && manifest.value("data_order", data_order) != data_order)
    throw Error(fmt::format("the data are not what they were when {} began: put them back, or choose another dump_dir", run.string()));
}

bool is_finished_as(const RunConfig& config) { return is_finished(config.dump_dir) && changes_of(config.dump_dir, config).empty(); }

std::string history(const fs::path& folder) {
  const fs::path file = folder / "history.txt";
  return fs::exists(file) ? read_file(file) : "";
}

void add_to_history(const RunConfig& config, const Resume& resume, int64_t step) {
  const fs::path folder = config.dump_dir, file = folder / "history.txt";
  const bool elsewhere = begins_elsewhere(config, resume);
  std::string lines = elsewhere ? begun_from(resume.from) : step == 0 ? "" : history(folder);
  const std::string changed = elsewhere || step > 0 ? changes_of(elsewhere ? run_of(resume.from) : folder, config) : "";
  if (const std::string line = fmt::format("at step {}: {}\n", step, changed); !changed.empty() && !lines.ends_with(line)) lines += line;
  if (lines != history(folder)) write_file(file, lines);
}

}  // namespace darope
