#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/signals.h"
#include "bench/opponent.h"
#include "bench/result.h"
#include "cli/common/run_verbs.h"
#include "cli/common/table.h"
#include "cli/compute/verbs.h"
#include "experiments/run.h"
#include "experiments/threads.h"

namespace darope {
namespace {

struct BenchSettings {
  std::string size = "124m", csv, opponents;  // opponents: "true", or variants by commas
  std::vector<std::string> encodings;
  Timing timing;
  bool json = false;
};

std::vector<std::string> split(const std::string& text) { return CLI::detail::split(text, ','); }

// Runs the trials one after the other, and says each row as soon as it is known.
class Runner {
 public:
  Runner(const Bench& bench, const BenchSettings& settings, const std::vector<std::string>& overrides)
      : bench_(bench),
        settings_(settings),
        shape_(find_shape(settings.size, overrides)),
        device_(find_device(shape_.run.device)) {
    use_threads(shape_.run, device_.is_cpu());
    trials_ = bench.trials(shape_, settings.encodings);
    variants_ = settings.opponents.empty()     ? std::vector<std::string>{}
                : settings.opponents == "true" ? variants_of(bench, device_)
                                               : split(settings.opponents);
    if (!settings.opponents.empty()) check_opponents(shape_.run, variants_);
    if (!settings.csv.empty()) csv_.emplace(settings.csv);
    conditions_ = conditions_now(device_, find_dtype(shape_.run.dtype, device_));
    const int64_t times = std::max<int64_t>(1, int64_t(variants_.size()));
    progress_.emplace("round", int64_t(trials_.size()) * times * settings.timing.rounds, 0);
  }

  void run() {
    if (!settings_.json) fmt::print("{}\n", table_head());
    for (const Trial& trial : trials_) {
      if (variants_.empty()) say_ours(trial, time(trial, [] {}));
      for (const std::string& variant : variants_) against(trial, variant);
    }
    if (failed_ > 0) throw Error(fmt::format("{} opponents had no result", failed_), kFailed);
  }

 private:
  Rounds time(const Trial& trial, const std::function<void()>& other) {
    Timing timing = settings_.timing;
    timing.between = [&] {
      other();
      ++rounds_;
      if (progress_->terminal()) progress_->show(rounds_, trial.encoding + " " + trial.what);
    };
    return trial.time(timing);
  }

  // What an opponent cannot do is said, and ours is timed all the same.
  void against(const Trial& trial, const std::string& variant) {
    std::optional<Opponent> opponent;
    const auto ask = [&](const auto& what) {
      try {
        what();
      } catch (const Error& e) {
        if (e.code() != kFailed) throw;
        progress_->clear();
        fmt::print(stderr, "{} has no result for {} {}: {}\n", variant, trial.encoding, trial.what, e.what());
        opponent.reset();
        ++failed_;
      }
    };
    ask([&] { opponent.emplace(bench_, shape_, trial, variant, settings_.timing); });
    const Rounds ours = time(trial, [&] {
      if (opponent) ask([&] { opponent->round(); });
    });
    say_ours(trial, ours);
    if (!opponent) return;
    Result theirs = result_of(trial, opponent->rounds());
    theirs.who = variant, theirs.ratio = theirs.rounds.best() / ours.best();
    say(theirs);
  }

  Result result_of(const Trial& t, const Rounds& rounds) const {
    return {.bench = std::string(bench_.name),
            .size = shape_.name,
            .encoding = t.encoding,
            .what = t.what,
            .batch = t.batch,
            .length = t.length,
            .rounds = rounds,
            .tokens = t.tokens,
            .floor = conditions_.speeds.seconds(t.cost),
            .cost = t.cost};
  }

  void say_ours(const Trial& trial, const Rounds& rounds) {
    Result ours = result_of(trial, rounds);
    if (trial.beside) ours.ratio = rounds.best() / before_;
    before_ = rounds.best();
    say(ours);
  }

  void say(const Result& result) {
    progress_->clear();
    fmt::print("{}\n", settings_.json ? json_line(result, conditions_) : table_line(result));
    std::fflush(stdout);
    if (csv_) csv_->append(result, conditions_);
  }

  const Bench& bench_;
  const BenchSettings& settings_;
  Shape shape_;
  at::Device device_;
  std::vector<Trial> trials_;
  std::vector<std::string> variants_;
  Conditions conditions_;
  std::optional<CsvFile> csv_;
  std::optional<Progress> progress_;
  int64_t rounds_ = 0, failed_ = 0;
  double before_ = 0;  // seconds of the trial before
};

void add(CLI::App& all, const Bench& bench) {
  auto settings = std::make_shared<BenchSettings>();
  settings->encodings = split(std::string(bench.encodings));
  settings->timing.steps = bench.steps;
  CLI::App* verb = all.add_subcommand(std::string(bench.name), std::string(bench.summary));
  verb->add_option("--size", settings->size,
                   "124m, 350m, 1b, jsb, task, sleep, small or quick, or a config of the trainer (.yaml)")
      ->capture_default_str();
  verb->add_option("--encodings", settings->encodings, "which ones, by commas")
      ->delimiter(',')
      ->type_name(kListValue)
      ->allow_extra_args(false)
      ->default_str(std::string(bench.encodings));
  verb->add_option("--rounds", settings->timing.rounds, "the best of them counts")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  verb->add_option("--steps", settings->timing.steps, "timed in a round")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  if (!bench.opponent.empty())
    verb->add_flag("--opponents", settings->opponents,
                   "also PyTorch's, round by round in turns; --opponents=eager,compile: these of them");
  if (bench.name == "step")
    verb->add_option("--trace", settings->timing.trace,
                     "also record two steps into this file, for Chrome's viewer");
  verb->add_flag("--json", settings->json, "print JSON lines");
  verb->add_option("--csv", settings->csv, "also append rows to this file");
  take_settings(*verb);
  verb->callback([settings, verb, &bench] {
    watch_signals();
    Runner(bench, *settings, verb->remaining()).run();
  });
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("bench", "how fast this machine computes");
  verb->require_subcommand(1);
  for (const Bench& each : benches()) add(*verb, each);
}

}  // namespace darope
