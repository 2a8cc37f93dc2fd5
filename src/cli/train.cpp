#include <fmt/format.h>

#include "base/config.h"
#include "base/error.h"
#include "cli/verbs.h"
#include "experiments/dry_run.h"
#include "experiments/run.h"
#include "train/checkpoint_dir.h"

namespace darope {
namespace {

struct Settings {
  std::string config, resume = "auto";
  bool print_config = false, dry_run = false, no_graph = false, deterministic = false;
};

void train_verb(const Settings& settings, const std::vector<std::string>& overrides) {
  RunConfig config;
  load_config(config, settings.config, overrides);
  if (settings.no_graph) config.graph = false;
  if (settings.deterministic) config.deterministic = true;
  if (settings.print_config) {
    fmt::print("{}", to_yaml(config));
    return;
  }
  const bool begun = !list_checkpoints(std::filesystem::path(config.dump_dir) / "checkpoints").empty();
  if (settings.resume == "must" && !begun) throw Error(fmt::format("--resume=must, but {} has no checkpoint to go on from", config.dump_dir));
  if (settings.resume == "never" && begun) throw Error(fmt::format("--resume=never, but {} has checkpoints: choose another dump_dir, or remove it", config.dump_dir));
  if (settings.dry_run) return dry_run(config);
  if (const int code = run(config); code != kDone) throw Error("the run diverged", ExitCode(code));
  fmt::print("{}\n", config.dump_dir);
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* verb = app.add_subcommand("train", "train one model and score it; the same command again goes on where it stopped");
  verb->add_option("CONFIG", settings->config, "a YAML file; a.b=c and --a.b=c behind it change single settings")->required();
  verb->add_flag("--print-config", settings->print_config, "print the settings that would be used, and stop");
  verb->add_option("--resume", settings->resume, "auto: go on from the newest checkpoint; must: there has to be one; never: there may be none")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "must", "never"}));
  verb->add_flag("--dry-run", settings->dry_run, "build everything, take a few steps, say what the run would cost, and keep nothing");
  verb->add_flag("--no-graph", settings->no_graph, "on a GPU, launch kernel by kernel instead of one CUDA graph a step");
  verb->add_flag("--deterministic", settings->deterministic, "repeatable bit for bit on a GPU too, at some cost");
  verb->allow_extras();
  verb->callback([settings, verb] { train_verb(*settings, verb->remaining()); });
}

}  // namespace darope
