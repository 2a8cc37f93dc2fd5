#include <fmt/format.h>

#include <cctype>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/signals.h"
#include "cli/verbs.h"
#include "data/open.h"
#include "eval/evaluate.h"
#include "eval/score_table.h"
#include "experiments/past.h"
#include "experiments/saved_run.h"

namespace darope {
namespace {

struct EvalSettings {
  std::string run;
  Which which;
  bool json = false;
};

// Letters, digits, '.' and '-' stay; what that changes is told apart by a hash, so that no two evaluations
// share a folder.
std::string folder_name(const std::string& text) {
  std::string out = text.substr(0, 100);
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return out == text ? out : out + "-" + sha256(text).substr(0, 8);
}

void warn_of_other_data(const std::string& folder, RunConfig config) {
  config.dump_dir = folder;  // it may have been moved
  try {
    check_data(config);
  } catch (const Error& e) {
    fmt::print(stderr, "darope: WARNING: {}\n", e.what());
  }
}

// Scores of one checkpoint: a table, and each example's in evals/STEP/VARIANT/results.jsonl of the run.
void eval_verb(const EvalSettings& settings, const std::vector<std::string>& overrides) {
  SavedRun run = open_run(settings.run, settings.which, overrides);
  const Dataset data =
      open_dataset(run.config.data, uint64_t(run.config.seed), run.config.steps * run.config.grad_acc_steps);
  if (overrides.empty()) warn_of_other_data(settings.run, run.config);
  watch_signals();
  ScoreTable table;
  std::string lines;
  evaluate(*run.model, data, [&](const Score& s) {
    table.add(s.x, s.metric, s.value);
    lines += to_line(s);
  });
  std::string variant = settings.which.encoding.empty() ? "as-trained" : settings.which.encoding;
  if (settings.which.best) variant += "-best";
  for (const std::string& each : overrides) variant += "-" + each;
  const std::filesystem::path folder =
      std::filesystem::path(settings.run) / "evals" / run.checkpoint.filename() / folder_name(variant);
  make_directories(folder);
  write_file(folder / "results.jsonl", lines);
  if (settings.json) {
    for (const ScoreTable::Row& row : table.rows())
      fmt::print("{}\n", nlohmann::ordered_json{{"dataset", data.name},
                                                {"encoding", run.config.model.encoding},
                                                {"step", run.step},
                                                {"x", row.x},
                                                {"metric", row.metric},
                                                {"mean", row.mean},
                                                {"deviation", row.deviation},
                                                {"examples", row.examples}}
                             .dump());
    return;
  }
  fmt::print("{} at step {}, {}\n{}each example's scores: {}\n", data.name, run.step,
             run.config.model.encoding, table.text(), (folder / "results.jsonl").string());
}

}  // namespace

void add_eval(CLI::App& app) {
  auto settings = std::make_shared<EvalSettings>();
  CLI::App* verb = app.add_subcommand(
      "eval",
      "score a run's checkpoint on its test data; a.b=c changes a setting, such as data.test_examples");
  verb->add_option("RUN", settings->run, "a run's folder")->required();
  verb->add_option("--step", settings->which.step, "the checkpoint of this step; default: the newest")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", settings->which.best, "the checkpoint of the lowest validation loss");
  verb->add_option("--encoding", settings->which.encoding,
                   "evaluate with another encoding that the weights fit, such as yarn:factor=8 for rope");
  verb->add_flag("--json", settings->json, "one JSON object per line");
  verb->allow_extras();
  verb->callback([settings, verb] { eval_verb(*settings, verb->remaining()); });
}

}  // namespace darope
