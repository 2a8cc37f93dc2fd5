#include <fmt/format.h>

#include <algorithm>

#include "base/config.h"
#include "base/error.h"
#include "base/names.h"
#include "base/signals.h"
#include "base/streams.h"
#include "cli/common/run_verbs.h"
#include "cli/compute/verbs.h"
#include "experiments/dry_run.h"
#include "experiments/run.h"
#include "runs/finished_run.h"
#include "runs/score_means.h"
#include "settings/compare.h"

namespace darope {
namespace {

struct TrainSettings {
  std::string config, resume = "auto";
  std::vector<std::string> may_change;
  bool print_config = false, dry_run = false, no_graph = false, deterministic = false;
};

Resume resume_of(const TrainSettings& s) {
  RunConfig known;
  std::vector<std::string> keys;
  for (const Field& field : list_fields(known)) keys.push_back(field.key);
  for (const std::string& key : s.may_change)
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const std::string& each) { return each == key || each.starts_with(key + "."); }))
      throw Error(unknown_name("setting", key, keys));
  const bool word = s.resume == "auto" || s.resume == "must" || s.resume == "never";
  return {word ? "" : s.resume, s.may_change};
}

// A config that only a comparison understands is one.
void refuse_comparison_config(const std::string& file) {
  CompareConfig comparison;
  try {
    load_config(comparison, file, {});
  } catch (const Error&) {
    return;
  }
  RunConfig run;
  try {
    load_config(run, file, {});
  } catch (const Error&) {
    throw Error(
        fmt::format("{0} is the config of a comparison: 'darope compare {0}' takes it; a run has its "
                    "own, such as configs/quick/train.yaml",
                    file));
  }
}

void train_verb(const TrainSettings& settings, const std::vector<std::string>& overrides) {
  refuse_comparison_config(settings.config);
  RunConfig config;
  load_config(config, settings.config, overrides);
  if (settings.no_graph) config.graph = false;
  if (settings.deterministic) config.deterministic = true;
  const Resume resume = resume_of(settings);
  if (settings.print_config) {
    fmt::print("{}", to_yaml(resolve(config, open_data(config)), Comments::kMeanings));
    return;
  }
  const RunFolder folder(config.dump_dir);
  const bool begun = folder.has_checkpoints();
  if (settings.resume == "must" && !begun)
    throw Error(fmt::format("--resume=must, but {} has no checkpoint to go on from", config.dump_dir));
  if (settings.resume == "never" && begun)
    throw Error(fmt::format("--resume=never, but {} has checkpoints: choose another dump_dir, or remove it",
                            config.dump_dir));
  if (settings.dry_run) return dry_run(config);
  watch_signals();
  name_work(config.dump_dir);
  if (const int code = run(config, resume); code != kDone) throw Error("the run diverged", ExitCode(code));
  const RunFiles files = read_run_files(folder);
  if (files.scores.empty()) return fmt::print("no test examples to score\n{}\n", config.dump_dir);
  const FinishedRun done = read_finished(files);
  fmt::print("{}{}\n", table_of(means_of(done.scores), done.metrics), config.dump_dir);
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<TrainSettings>();
  CLI::App* verb = app.add_subcommand(
      "train", "train one model and score it; the same command again goes on where it stopped");
  verb->add_option("CONFIG", settings->config,
                   "a YAML file; a.b=c and --a.b=c behind it change single settings")
      ->required();
  verb->add_flag("--print-config", settings->print_config, "print the settings that would be used, and stop");
  verb->add_option("--resume", settings->resume,
                   "auto: go on from the newest checkpoint; must: there has to be one; never: there may be "
                   "none; or the folder of "
                   "another run's checkpoint, to begin from that one")
      ->capture_default_str();
  verb->add_option("--allow-config-change", settings->may_change,
                   "a setting (or a group, such as optim) that need not be as it was when the run began")
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("KEY")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_flag("--dry-run", settings->dry_run,
                 "build everything, take a few steps, say what the run would cost, and keep nothing");
  verb->add_flag("--no-graph", settings->no_graph,
                 "on a GPU, launch kernel by kernel instead of one CUDA graph a step");
  verb->add_flag("--deterministic", settings->deterministic,
                 "repeatable bit for bit on a GPU too, at some cost; stops where an operator cannot be");
  take_settings(*verb);
  verb->callback([settings, verb] { train_verb(*settings, verb->remaining()); });
}

}  // namespace darope
