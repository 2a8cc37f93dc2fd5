#include "runs/run_folder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "runs/facts.h"
#include "runs/lines.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

// The end of a file that grows, from the first whole line on.
std::string tail_of(const fs::path& file) {
  constexpr int64_t kEnough = 1 << 14;
  const std::string text = end_of_file(file, kEnough);
  return int64_t(text.size()) < kEnough ? text : text.substr(std::min(text.size(), text.find('\n') + 1));
}

}  // namespace

fs::path RunFolder::config() const { return path_ / "config.yaml"; }
fs::path RunFolder::given_config() const { return path_ / "base_config.yaml"; }
fs::path RunFolder::model_config() const { return path_ / kModelConfigFile; }
fs::path RunFolder::manifest() const { return path_ / "manifest.json"; }
fs::path RunFolder::facts() const { return path_ / "run.json"; }
fs::path RunFolder::scores() const { return path_ / "results.jsonl"; }
fs::path RunFolder::best_scores() const { return path_ / "results-best.jsonl"; }
fs::path RunFolder::metrics() const { return path_ / "metrics.jsonl"; }
fs::path RunFolder::validations() const { return path_ / "metrics.eval.jsonl"; }
fs::path RunFolder::tensorboard() const { return path_ / "tb"; }
fs::path RunFolder::log() const { return path_ / "train.log"; }
fs::path RunFolder::history() const { return path_ / "history.txt"; }
fs::path RunFolder::checkpoints() const { return path_ / "checkpoints"; }
fs::path RunFolder::best() const { return path_ / "best"; }
fs::path RunFolder::lock() const { return path_ / ".lock"; }

fs::path RunFolder::prompts_beside(const std::string& text, int64_t length) const {
  return fs::absolute(path_).parent_path() / fmt::format("prompts-{}-{}.safetensors", text, length);
}

RunFolder RunFolder::evaluation(const std::string& step, const std::string& variant) const {
  return evaluations_folder() / step / variant;
}
fs::path RunFolder::evaluations_folder() const { return path_ / "evals"; }

static int64_t steps_of(const RunFolder& finished) {
  const std::string file = finished.facts().string();
  return need<int64_t>(parse_json(read_file(file), file), "steps", file);
}

std::vector<RunFolder> RunFolder::evaluations() const {
  std::vector<RunFolder> found;
  if (!fs::is_directory(evaluations_folder())) return found;
  const int64_t steps = steps_of(*this);  // a run that went on has left those of its former end behind
  for (const fs::directory_entry& step : fs::directory_iterator(evaluations_folder()))
    for (const RunFolder& each : runs_in(step.path()))
      if (each.is_finished() && steps_of(each) == steps) found.push_back(each);
  return found;
}

bool RunFolder::is_begun() const { return fs::exists(config()); }
bool RunFolder::is_finished() const { return fs::exists(facts()); }

void RunFolder::require() const {
  if (is_begun()) return require_version();
  if (!fs::exists(path_)) throw Error(fmt::format("there is no run {}", path_.string()));
  refuse_comparison(path_);
  throw Error(
      fmt::format("{} is not a run's folder: it has no {}", path_.string(), config().filename().string()));
}

void RunFolder::require_version() const {
  for (const fs::path& file : {manifest(), facts()}) {
    if (!fs::exists(file)) continue;
    const Json said = parse_json(read_file(file), file.string());
    if (file == facts() || said.contains("schema"))
      schema_of(said, file.string());  // early manifests had none
  }
}

std::string RunFolder::read_history() const { return fs::exists(history()) ? read_file(history()) : ""; }

std::string RunFolder::fact(const char* key) const {
  for (const fs::path& file : {manifest(), facts()})
    if (fs::exists(file))
      if (const Json said = parse_json(read_file(file), file.string()); said.contains(key))
        return need<std::string>(said, key, file.string());
  return "";
}

std::optional<CurvePoint> RunFolder::last_logged() const {
  if (!fs::exists(metrics())) return std::nullopt;
  std::optional<CurvePoint> last;
  try {
    each_line(tail_of(metrics()), metrics().string(), [&](const Json& line, const std::string& where) {
      if (const auto loss = line.find("loss/out"); loss != line.end() && loss->is_number())
        last = {get_or<int64_t>(line, "global_step", 0, where), loss->get<double>()};
    });
  } catch (const Error&) {  // being written or cut back: whoever goes on with the run looks closer
  }
  return last;
}

void RunFolder::begin(const std::string& given, const std::string& config_text,
                      const std::string& manifest_text, const std::string& model) const {
  write_file(given_config(), given);
  write_file(config(), config_text);
  write_file(model_config(), model);
  write_file(manifest(), manifest_text);
}

void RunFolder::forget_end() const {
  for (const fs::path& file : {facts(), scores(), best_scores()}) remove_file(file);
}

fs::path ComparisonFolder::runs() const { return path_ / "runs"; }
fs::path ComparisonFolder::page() const { return path_ / "report.html"; }
fs::path ComparisonFolder::results() const { return path_ / "results.json"; }
fs::path ComparisonFolder::record() const { return path_ / "comparison.json"; }
fs::path ComparisonFolder::report_lock() const { return path_ / ".report.lock"; }
fs::path ComparisonFolder::lock(const std::string& share) const {
  std::string name = share.empty() ? ".lock" : ".lock-" + share;
  std::replace(name.begin(), name.end(), '/', '-');
  return path_ / name;
}
std::vector<fs::path> ComparisonFolder::locks_against(const std::string& share) const {
  if (!share.empty()) return {lock("")};
  std::vector<fs::path> found;
  for (const fs::directory_entry& each : fs::directory_iterator(path_))
    if (each.path().filename().string().starts_with(lock("").filename().string() + "-"))
      found.push_back(each.path());
  return found;
}
fs::path ComparisonFolder::jobs() const { return path_ / "jobs"; }
fs::path ComparisonFolder::job(const std::string& run) const { return jobs() / (run + ".yaml"); }
fs::path ComparisonFolder::job_log(const std::string& run) const { return jobs() / (run + ".log"); }

std::vector<RunFolder> runs_in(const fs::path& folder) {
  std::vector<RunFolder> found;
  if (!fs::is_directory(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (const RunFolder run(entry.path());
        entry.is_directory() && !is_leftover(entry.path()) && run.is_begun())
      found.push_back(run);
  std::sort(found.begin(), found.end(),
            [](const RunFolder& a, const RunFolder& b) { return a.path() < b.path(); });
  return found;
}

void refuse_comparison(const fs::path& folder) {
  for (const fs::path& parent : {ComparisonFolder(folder).runs(), folder})
    if (const std::vector<RunFolder> runs = runs_in(parent); !runs.empty())
      throw Error(fmt::format("{} holds {} run{}: give one of them, such as {}{}", folder.string(),
                              runs.size(), runs.size() == 1 ? "" : "s", runs.front().path().string(),
                              runs.size() == 1 ? "" : " or " + runs.back().path().string()));
}

}  // namespace darope
