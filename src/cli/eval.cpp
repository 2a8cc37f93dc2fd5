#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/signals.h"
#include "cli/verbs.h"
#include "data/open.h"
#include "eval/evaluate.h"
#include "experiments/saved_run.h"

namespace darope {
namespace {

struct EvalSettings {
  std::string run;
  Which which;
  bool json = false;
};

struct Sum {
  int64_t count = 0;
  double sum = 0, squares = 0;
  void add(double value) { ++count, sum += value, squares += value * value; }
  double mean() const { return sum / double(count); }
  double deviation() const { return count > 1 ? std::sqrt(std::max(0.0, (squares - sum * mean()) / double(count - 1))) : 0; }
};

// Letters, digits, '.' and '-' stay; what that changes is told apart by a hash, so that no two evaluations share a folder.
std::string folder_name(const std::string& text) {
  std::string out = text.substr(0, 100);
  for (char& c : out) if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return out == text ? out : out + "-" + sha256(text).substr(0, 8);
}

// Scores of one checkpoint: a table, and each example's in evals/STEP/VARIANT/results.jsonl of the run.
void eval_verb(const EvalSettings& settings, const std::vector<std::string>& overrides) {
  SavedRun run = open_run(settings.run, settings.which, overrides);
  const Dataset data = open_dataset(run.config.data, uint64_t(run.config.seed), run.config.steps * run.config.grad_acc_steps);
  watch_signals();
  std::map<std::pair<int64_t, std::string>, Sum> sums;
  std::string lines;
  evaluate(*run.model, data, [&](const Score& s) {
    sums[{s.x, std::string(s.metric)}].add(s.value);
    lines += to_line(s);
  });
  std::string variant = settings.which.encoding.empty() ? "as-trained" : settings.which.encoding;
  if (settings.which.best) variant += "-best";
  for (const std::string& each : overrides) variant += "-" + each;
  const std::filesystem::path folder = std::filesystem::path(settings.run) / "evals" / run.checkpoint.filename() / folder_name(variant);
  make_directories(folder);
  write_file(folder / "results.jsonl", lines);
  if (!settings.json)
    fmt::print("{} at step {}, {}\n{:>8}  {:16} {:>10} {:>10} {:>9}\n", data.name, run.step, run.config.model.encoding,
               "length", "metric", "mean", "deviation", "examples");
  for (const auto& [key, sum] : sums) {
    if (settings.json)
      fmt::print("{}\n", nlohmann::ordered_json{{"dataset", data.name}, {"encoding", run.config.model.encoding}, {"step", run.step}, {"x", key.first}, {"metric", key.second},
                                                {"mean", sum.mean()}, {"deviation", sum.deviation()}, {"examples", sum.count}}.dump());
    else
      fmt::print("{:>7}x  {:16} {:10.4f} {:10.4f} {:9}\n", key.first, key.second, sum.mean(), sum.deviation(), sum.count);
  }
  if (!settings.json) fmt::print("each example's scores: {}\n", (folder / "results.jsonl").string());
}

}  // namespace

void add_eval(CLI::App& app) {
  auto settings = std::make_shared<EvalSettings>();
  CLI::App* verb = app.add_subcommand("eval", "score a run's checkpoint on its test data; a.b=c changes a setting, such as data.test_examples");
  verb->add_option("RUN", settings->run, "a run's folder")->required();
  verb->add_option("--step", settings->which.step, "the checkpoint of this step; default: the newest")->check(CLI::NonNegativeNumber);
  verb->add_flag("--best", settings->which.best, "the checkpoint of the lowest validation loss");
  verb->add_option("--encoding", settings->which.encoding, "evaluate with another encoding that the weights fit, such as yarn:factor=8 for rope");
  verb->add_flag("--json", settings->json, "one JSON object per line");
  verb->allow_extras();
  verb->callback([settings, verb] { eval_verb(*settings, verb->remaining()); });
}

}  // namespace darope
