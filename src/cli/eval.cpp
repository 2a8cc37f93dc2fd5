#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/signals.h"
#include "cli/verbs.h"
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

// Scores of one checkpoint: a table, and each example's in evals/STEP/VARIANT/results.jsonl of the run.
void eval_verb(const EvalSettings& settings, const std::vector<std::string>& overrides) {
  SavedRun run = open_run(settings.run, settings.which, overrides);
  watch_signals();
  std::map<std::pair<int64_t, std::string>, Sum> sums;
  std::string lines;
  evaluate(*run.model, run.data, [&](const Score& s) {
    sums[{s.x, std::string(s.metric)}].add(s.value);
    lines += nlohmann::ordered_json{{"metric", s.metric}, {"x", s.x}, {"example", s.example}, {"value", s.value}, {"tokens", s.tokens}}.dump() + "\n";
  });
  std::string variant = settings.which.encoding.empty() ? "as-trained" : settings.which.encoding;
  if (settings.which.best) variant += "-best";
  for (const std::string& each : overrides) variant += "-" + each;
  for (char& c : variant) if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  const std::filesystem::path folder = std::filesystem::path(settings.run) / "evals" / run.checkpoint.filename() / variant.substr(0, 120);
  make_directories(folder);
  write_file(folder / "results.jsonl", lines);
  if (!settings.json)
    fmt::print("{} at step {}, {}\n{:>8}  {:16} {:>10} {:>10} {:>9}\n", run.data.name, run.step, run.config.model.encoding,
               "length", "metric", "mean", "deviation", "examples");
  for (const auto& [key, sum] : sums) {
    if (settings.json)
      fmt::print("{}\n", nlohmann::ordered_json{{"dataset", run.data.name}, {"encoding", run.config.model.encoding}, {"step", run.step}, {"x", key.first}, {"metric", key.second},
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
