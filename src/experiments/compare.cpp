#include "experiments/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "data/open.h"
#include "encodings/resolved.h"
#include "experiments/past.h"
#include "model/plan.h"
#include "runs/bundle.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// "rope:base=10000" as part of a folder's name.
std::string file_name(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return text;
}

void check_list(const char* key, const std::vector<std::string>& list) {
  if (list.empty()) throw Error(fmt::format("{} is empty: name at least one", key));
  std::set<std::string> seen;
  for (const std::string& each : list)
    if (!seen.insert(each).second) throw Error(fmt::format("{} names '{}' twice", key, each));
}

// Whether runs that were found somewhere may stand beside those of a plan.
class Belonging {
 public:
  Belonging(const std::vector<RunConfig>& plan, const fs::path& place, std::string choose)
      : plan_(plan), place_(place), choose_(std::move(choose)) {
    for (const RunConfig& run : plan)
      if (const std::string name = dataset_name(run.data); ours_.emplace(name, &run).second)
        names_.push_back(name);
  }

  void check(const RunConfig& there, const fs::path& run, const std::string& data_order) const {
    const std::string dataset = dataset_name(there.data);
    const auto same = ours_.find(dataset);
    const RunConfig& first = plan_.front();
    const bool other_task =
        same == ours_.end() && !there.data.task.empty() && !first.data.task.empty();  // one of a longer list
    if (same == ours_.end() && !other_task)
      throw Error(fmt::format(
          "{} belongs to another comparison: it holds runs on {}, this one is on {}; choose another {}",
          place_.string(), dataset, fmt::join(names_, ", "), choose_));
    RunConfig like = other_task ? first : *same->second;
    like.data.task = there.data.task, like.model.encoding = there.model.encoding,
    like.seed = like.model.seed = there.seed, like.weights_of = there.weights_of;
    if (const std::string changed = changes(there, like, {"model.seed"}); !changed.empty())
      throw Error(fmt::format("{} belongs to another comparison (of {}, {}): choose another {}",
                              place_.string(), run.filename().string(), changed, choose_));
    check_same_data(run, data_order, like);
  }

 private:
  const std::vector<RunConfig>& plan_;
  fs::path place_;
  std::string choose_;
  std::map<std::string, const RunConfig*>
      ours_;  // one for each dataset: others differ in encoding and seed alone
  std::vector<std::string> names_;
};

}  // namespace

// Examples of one source are one witness, and of one alone nothing tells how sources vary.
static void check_witnesses(const RunConfig& run, const Dataset& data) {
  if (run.data.root_dir.empty()) return;
  for (const TestLength& test : data.tests) {
    const int64_t first = test.set->cluster(0);
    bool several = false;
    for (int64_t i = 1; i < test.set->size() && !several; ++i) several = test.set->cluster(i) != first;
    if (!several)
      throw Error(fmt::format(
          "all of the test of {} comes from one source, and a verdict needs at least two: prepare the data "
          "again, from more files, or records of FASTA",
          run.data.root_dir));
  }
}

// The run of the plan whose weights an encoding is scored with that is a change at evaluation.
static std::string stretched(const RunConfig& variant, const std::vector<RunConfig>& plan) {
  const auto base_of = [](const RunConfig& run) { return Plan(run.model).layers.front().encoding->base(); };
  const RunConfig* other = nullptr;  // of another base
  for (const RunConfig& run : plan)
    if (run.seed == variant.seed && run.data.task == variant.data.task &&
        base_name(run.model.encoding) == "rope") {
      if (base_of(run) == base_of(variant)) return run.name;
      other = &run;
    }
  if (other)
    throw Error(fmt::format(
        "{} and {} have different bases: {} is trained and {} stretches it, so give both the same",
        other->model.encoding, variant.model.encoding, other->model.encoding, variant.model.encoding));
  throw Error(
      fmt::format("{} is a change at evaluation and cannot be trained: compare rope beside it, which "
                  "it stretches",
                  variant.model.encoding));
}

static bool trains(const std::string& encoding) {
  return encoding.find(';') != std::string::npos || find_encoding(encoding).traits.trains;
}

// Two names of one model would stand in two rows, and no number of seeds would tell them apart.
static void refuse_equals(const std::vector<RunConfig>& plan) {
  std::map<std::string, std::string> named;  // by what the layers' encodings are
  for (const RunConfig& run : plan) {
    if (run.seed != plan.front().seed || run.data.task != plan.front().data.task) continue;
    const LayerShape shape = Plan(run.model).layers.front().encoding->shape();
    std::string whole;
    for (const std::string& each : run.model.layer_encodings()) whole += resolved_encoding(each, shape) + ";";
    const auto [first, fresh] = named.emplace(whole, run.model.encoding);
    if (!fresh)
      throw Error(fmt::format("encodings names {} and {}, which are the same here, {}: name one of them",
                              first->second, run.model.encoding, whole.substr(0, whole.find(';'))));
  }
}

std::vector<RunConfig> make_plan(const CompareConfig& config) {
  CompareConfig values = config;
  check_values(list_fields(values));
  if (config.dump_dir.empty()) throw Error("dump_dir is empty: give the folder of this comparison, or --out");
  check_list("encodings", config.encodings);
  check_rounds(config.rounds);
  const bool file = !config.data.path.empty() || !config.data.root_dir.empty();
  if (file && !config.tasks.empty())
    throw Error(
        "tasks are given beside data.path or data.root_dir: compare on tasks, on a file or on a prepared "
        "dataset");
  const std::vector<std::string> tasks = file ? std::vector<std::string>{""}
                                         : config.tasks.empty() && !config.data.task.empty()
                                             ? std::vector{config.data.task}
                                             : config.tasks;
  if (!file) check_list("tasks", tasks);
  std::vector<RunConfig> plan;
  for (int64_t i = 0; i < config.seeds; ++i)
    for (const std::string& task : tasks) {
      RunConfig run = config;
      run.data.task = task;
      run.seed = run.model.seed = config.seed + i;
      const Dataset data = open_data(run);
      if (i == 0) check_witnesses(run, data), say_notes(data);
      std::vector<std::string> in_order = config.encodings;  // what is trained comes first
      std::ranges::stable_partition(in_order, trains);
      for (const std::string& encoding : in_order) {
        run.model.encoding = encoding;
        run.name = fmt::format("{}-{}-s{}", file_name(dataset_name(run.data)), file_name(encoding), run.seed);
        run.dump_dir = ComparisonFolder(config.dump_dir).run(run.name).path().string();
        run.weights_of = "";
        if (!trains(encoding)) {
          run.weights_of = "?";  // not a training
          run.weights_of = stretched(resolve(run, data), plan);
        }
        plan.push_back(resolve(run, data));
      }
    }
  refuse_equals(plan);
  return plan;
}

void check_folder(const std::vector<RunConfig>& plan) {
  const fs::path runs = fs::path(plan.front().dump_dir).parent_path(), folder = runs.parent_path();
  for (fs::path part; const fs::path& each : runs)
    if (part /= each; fs::exists(part) && !fs::is_directory(part))
      throw Error(
          fmt::format("{} is a file where a folder is needed: choose another with --out", part.string()));
  refuse_link(runs);  // a stranger's folder could lead elsewhere
  for (const RunConfig& run : plan) refuse_link(run.dump_dir);
  const Belonging belonging(plan, folder, "folder with --out");
  for (const RunFolder& run : runs_in(runs)) {
    run.require_version();
    RunConfig there;
    read_config_file(list_fields(there), run.config());
    belonging.check(there, run.path(), run.fact("data_order"));
    if (run.is_finished()) read_run_files(run);  // it counts only as it was written
  }
  for (const RunConfig& run : plan) check_past(run, {});
}

void check_bundle(const std::vector<RunConfig>& plan, const std::vector<RunConfig>& share,
                  const fs::path& bundle, bool taken) {
  check_writable(bundle);
  if (!fs::exists(bundle)) return;
  const Belonging belonging(plan, bundle, "file with --bundle");
  std::map<std::string, RunFolder> folders;
  for (const RunConfig& run : share) folders.emplace(run.name, run.dump_dir);
  read_bundle(bundle, [&](const RunFiles& run) {
    RunConfig there;
    read_yaml(list_fields(there), run.config, RunFolder(run.folder).config().string());
    belonging.check(there, run.folder, data_order_of(run));
    const auto ours = folders.find(run.name);
    if (ours == folders.end()) return;
    if (ours->second.is_finished() ? read_file(ours->second.facts()) != run.facts : !taken)
      throw Error(
          fmt::format("{0} holds a run {1} that is not the one of {2}: take its runs with --from {0}, or "
                      "choose another file with --bundle",
                      bundle.string(), run.name, ours->second.path().string()));
  });
}

}  // namespace darope
