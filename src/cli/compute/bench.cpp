#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "bench/step.h"
#include "cli/compute/verbs.h"

namespace darope {
namespace {

struct BenchSettings {
  std::string size = "124m";
  std::vector<std::string> encodings{"rope", "darope"};
  StepTrial trial;
  bool json = false;
};

void bench_step(const BenchSettings& settings) {
  const StepShape& shape = find_step_shape(settings.size);
  if (!settings.json)
    fmt::print("{:<20} {:>10} {:>8} {:>10} {:>9} {:>9}\n", "encoding", "ms a step", "spread", "ktokens/s",
               "TFLOP/s", "MiB");
  for (const std::string& encoding : settings.encodings) {
    StepTrial trial = settings.trial;
    trial.encoding = encoding;
    const StepTime time = time_step(shape, trial);
    const double best = time.best(), worst = *std::max_element(time.rounds.begin(), time.rounds.end());
    const double speed = double(shape.tokens()) / best;
    if (settings.json)
      fmt::print("{}\n", nlohmann::ordered_json{{"bench", "step"},
                                                {"size", shape.name},
                                                {"encoding", encoding},
                                                {"seconds", time.rounds},
                                                {"tokens_per_second", speed},
                                                {"operations", shape.operations()},
                                                {"peak_bytes", time.peak_bytes}}
                             .dump());
    else
      fmt::print("{:<20} {:>10.2f} {:>7.1f}% {:>10.1f} {:>9.1f} {:>9.0f}\n", encoding, best * 1e3,
                 100 * (worst / best - 1), speed / 1e3, shape.operations() / best / 1e12,
                 double(time.peak_bytes) / double(1 << 20));
  }
}

}  // namespace

void add_bench(CLI::App& app) {
  auto settings = std::make_shared<BenchSettings>();
  CLI::App* verb = app.add_subcommand("bench", "how fast this machine computes");
  verb->require_subcommand(1);
  CLI::App* step =
      verb->add_subcommand("step", "a whole training step: data, loss, gradients, clipping, AdamW");
  step->add_option("--size", settings->size, "a shape of the benchmark: 124m, 350m, 1b, jsb, task, sleep")
      ->capture_default_str();
  step->add_option("--encodings", settings->encodings, "which ones, by commas")->delimiter(',');
  step->add_option("--device", settings->trial.device, "auto, cpu or cuda")->capture_default_str();
  step->add_option("--rounds", settings->trial.rounds, "the best of them counts")->capture_default_str();
  step->add_option("--steps", settings->trial.steps, "timed in a round")->capture_default_str();
  step->add_option("--trace", settings->trial.trace,
                   "also record two steps into this file, for Chrome's viewer");
  step->add_flag("--json", settings->json, "print JSON lines");
  step->callback([settings] { bench_step(*settings); });
}

}  // namespace darope
