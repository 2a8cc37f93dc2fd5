#include <fmt/format.h>

#include "base/config.h"
#include "base/error.h"
#include "cli/verbs.h"
#include "experiments/run.h"

namespace darope {
namespace {

struct Settings {
  std::string config;
  bool print_config = false;
};

void train_verb(const Settings& settings, const std::vector<std::string>& overrides) {
  RunConfig config;
  load_config(config, settings.config, overrides);
  if (settings.print_config) {
    fmt::print("{}", to_yaml(config));
    return;
  }
  if (const int code = run(config); code != kDone) throw Error("the run diverged", ExitCode(code));
  fmt::print("{}\n", config.dump_dir);
}

}  // namespace

void add_train(CLI::App& app) {
  auto settings = std::make_shared<Settings>();
  CLI::App* verb = app.add_subcommand("train", "train one model and score it; the same command again goes on where it stopped");
  verb->add_option("CONFIG", settings->config, "a YAML file; a.b=c and --a.b=c behind it change single settings")->required();
  verb->add_flag("--print-config", settings->print_config, "print the settings that would be used, and stop");
  verb->allow_extras();
  verb->callback([settings, verb] { train_verb(*settings, verb->remaining()); });
}

}  // namespace darope
