#include "experiments/past.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "data/open.h"
#include "runs/lines.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// What was left to the machine is said now, or the other way round; check_dtype() sees to it that the type of
// number stays.
bool named(const Difference& d) {
  return (d.key == "device" || d.key == "dtype") && (d.before == "auto" || d.after == "auto");
}

bool always_may_change(const std::string& key) {
  return key == "name" || key == "dump_dir" || key == "threads" || key == "graph" || key == "recompute" ||
         key.starts_with("checkpoint.") || key.starts_with("logging.");
}

bool begins_elsewhere(const RunConfig& config, const Resume& resume) {
  return !resume.from.empty() && !RunFolder(config.dump_dir).has_checkpoints();
}

fs::path whole(const fs::path& path) {
  const fs::path out = fs::weakly_canonical(path);
  return out.has_filename() ? out : out.parent_path();  // no slash at its end
}
fs::path run_of(const fs::path& checkpoint) {
  return whole(checkpoint).parent_path().parent_path();
}  // RUN/checkpoints/STEP
std::string begun_from(const fs::path& checkpoint) {
  return fmt::format("begun from {}\n", whole(checkpoint).string());
}

// The settings that the checkpoint of a step was made with; those of older programs do not say.
fs::path settings_at(const RunFolder& run, int64_t step) {
  for (const Checkpoint& each : list_checkpoints(run.checkpoints()))
    if (each.step == step) return each.folder / kSettingsFile;
  return {};
}

// The history up to a step.
std::string before_step(const std::string& lines, int64_t step) {
  std::istringstream all(lines);
  std::string kept;
  long long at = 0;
  for (std::string line; std::getline(all, line); kept += line + "\n")
    if (std::sscanf(line.c_str(), "at step %lld:", &at) == 1 && at >= step) break;
  return kept;
}

// The folder that holds what the run goes on from.
RunFolder past_of(const RunConfig& config, const Resume& resume) {
  return begins_elsewhere(config, resume) ? run_of(resume.from) : fs::path(config.dump_dir);
}

std::string changes_of(const RunFolder& run, const RunConfig& config,
                       const std::vector<std::string>& may_change = {}) {
  return run.is_begun() ? changes(read_file(run.config()), run.config(), config, may_change) : "";
}

[[noreturn]] void refuse_data(const fs::path& run) {
  throw Error(
      fmt::format("the data are not what they were when {} was trained: put them back, or choose another "
                  "folder (dump_dir, or --out of compare)",
                  run.string()));
}

std::string data_order(const RunConfig& config) {
  static std::map<std::string, std::string> known;  // many runs of a comparison share their data
  RunConfig only;
  only.data = config.data, only.seed = config.seed, only.steps = config.steps * config.grad_acc_steps;
  std::string& hash = known[to_canonical_json(only)];
  if (hash.empty())
    hash = data_hash(open_dataset(config.data, uint64_t(config.seed), only.steps), only.steps);
  return hash;
}

}  // namespace

std::string data_order_of(const RunFiles& run) {
  const std::string file = RunFolder(run.folder).facts().string();
  return need<std::string>(parse_json(run.facts, file), "data_order", file);
}

std::string changes(const RunConfig& before, const RunConfig& now,
                    const std::vector<std::string>& may_change) {
  const auto allowed = [&](const std::string& key) {
    return always_may_change(key) ||
           std::any_of(may_change.begin(), may_change.end(),
                       [&](const std::string& each) { return key == each || key.starts_with(each + "."); });
  };
  std::string changed;
  for (const Difference& d : differences(before, now))
    if (!allowed(d.key) && !named(d))
      changed +=
          fmt::format("{}{} was {} and is now {}", changed.empty() ? "" : ", ", d.key, d.before, d.after);
  return changed;
}

std::string changes(const std::string& text, const fs::path& file, const RunConfig& config,
                    const std::vector<std::string>& may_change) {
  RunConfig before;
  read_yaml(list_fields(before), text, file.string());
  return changes(before, config, may_change);
}

void check_same_config(const std::string& text, const fs::path& file, const RunConfig& config,
                       const std::vector<std::string>& may_change) {
  const std::string changed = changes(text, file, config, may_change);
  if (!changed.empty())
    throw Error(
        fmt::format("{} belongs to another run ({}): choose another folder (dump_dir, or --out of compare); "
                    "'darope train' takes "
                    "--allow-config-change=KEY",
                    file.parent_path().string(), changed));
}

void check_past(const RunConfig& config, const Resume& resume) {
  const RunFolder folder(config.dump_dir);
  folder.require_version();
  if (folder.is_begun())
    check_same_config(read_file(folder.config()), folder.config(), config, resume.may_change);
  if (folder.is_finished() && !folder.has_checkpoints() && !changes_of(folder, config).empty())
    throw Error(fmt::format(
        "{} is finished and holds no checkpoint to go on from with other settings: choose another dump_dir",
        folder.path().string()));
  if (resume.from.empty()) return;
  if (folder.has_checkpoints()) {
    if (folder.read_history().starts_with(begun_from(resume.from))) return;
    throw Error(fmt::format(
        "--resume={}: {} has checkpoints of its own and was not begun from this one: choose another dump_dir",
        resume.from.string(), folder.path().string()));
  }
  if (!fs::is_directory(resume.from))
    throw Error(fmt::format("--resume={}: neither auto, must, never nor the folder of a checkpoint",
                            resume.from.string()));
  if (const auto problem = checkpoint_problem(resume.from, Verify::kHashes))
    throw Error(fmt::format("--resume={}: {}", resume.from.string(), *problem));
  RunFolder(run_of(resume.from)).require_version();
  if (const std::string changed = changes_of(run_of(resume.from), config, resume.may_change);
      !changed.empty())
    throw Error(
        fmt::format("--resume={}: its run had other settings ({}): give the same, or allow a change with "
                    "--allow-config-change=KEY",
                    resume.from.string(), changed));
}

void check_dtype(const RunConfig& config, const Resume& resume, const std::string& dtype) {
  const RunFolder run = past_of(config, resume);
  // `auto` may mean another type on another machine; a run goes on in the one it began with.
  if (const std::string before = run.fact("dtype"); !before.empty() && before != dtype)
    throw Error(fmt::format("{} was begun in {} and would go on in {} here: give dtype={}",
                            run.path().string(), before, dtype, before));
}

void check_data(const RunConfig& config, const Resume& resume, const std::string& data_order_now) {
  const RunFolder run = past_of(config, resume);
  const std::string known = run.fact("data_order");
  if (known.empty() || !run.is_begun()) return;
  RunConfig before;
  read_yaml(list_fields(before), read_file(run.config()), run.config().string());
  const std::vector<Difference> changed = differences(before, config);
  const auto is = [&](auto... prefixes) {
    return std::any_of(changed.begin(), changed.end(),
                       [&](const Difference& d) { return (d.key.starts_with(prefixes) || ...); });
  };
  if (is("data.")) return;                                    // other data on purpose
  const bool longer = is("steps", "seed", "grad_acc_steps");  // other batches of the same data are looked at
  if ((longer || data_order_now.empty() ? data_order(before) : data_order_now) != known)
    refuse_data(run.path());
}

void check_same_data(const fs::path& run, const std::string& known, const RunConfig& config) {
  if (!known.empty() && data_order(config) != known) refuse_data(run);
}

bool is_finished_as(const RunConfig& config) {
  const RunFolder run(config.dump_dir);
  return run.is_finished() && changes_of(run, config).empty();
}

void add_to_history(const RunConfig& config, const Resume& resume, int64_t step) {
  const RunFolder folder(config.dump_dir);
  const bool elsewhere = begins_elsewhere(config, resume);
  std::string lines = elsewhere ? begun_from(resume.from) : step == 0 ? "" : folder.read_history();
  const std::string now = fmt::format("at step {}: ", step);
  std::string changed = elsewhere || step > 0 ? changes_of(past_of(config, resume), config) : "";
  if (const fs::path settings = settings_at(folder, step); !elsewhere && step > 0 && fs::exists(settings)) {
    lines = before_step(lines, step);  // what came of steps that are taken anew did not happen
    changed = changes(read_file(settings), settings, config);
  }
  if (const std::string line = now + changed + "\n"; !changed.empty() && !lines.ends_with(line))
    lines += line;
  if (lines != folder.read_history()) write_file(folder.history(), lines);
}

}  // namespace darope
