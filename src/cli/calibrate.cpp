#include "stats/calibrate.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/verbs.h"

namespace darope {
namespace {

struct CalibrateSettings {
  bool full = false;
  size_t repeats = 400;
};

const char* in_words(stats::Question question) {
  switch (question) {
    case stats::Question::wrong_tied:
      return "wrong tied";
    case stats::Question::power:
      return "power";
    default:
      return "false better";
  }
}

// One row as soon as it is known; whether all of its rates are what they may be.
bool print_row(const stats::Condition& condition, size_t repeats, stats::Noise& noise) {
  fmt::print("| {} | {} |", condition.label, in_words(condition.question));
  bool good = true;
  double last = 0;
  for (const size_t seeds : stats::kCalibrationSeeds) {
    const double rate = stats::rate(condition, seeds, repeats, noise);
    fmt::print(" {:.3f} |", rate);
    std::fflush(stdout);
    good = good &&
           (condition.question == stats::Question::power ? rate >= last : rate <= stats::allowed(repeats));
    last = rate;
  }
  fmt::print("\n");
  return good;
}

void print_calibration(const CalibrateSettings& s) {
  stats::Noise noise;
  bool good = true;
  fmt::print("| simulated | asked | 2 seeds | 3 | 5 | 10 |\n|---|---|---|---|---|---|\n");
  for (const stats::Condition& condition : stats::calibration_grid(s.full))
    good = print_row(condition, s.repeats, noise) && good;
  fmt::print("\n{} comparisons each; 5 % may be {:.3f} in so many, one time in a hundred.\n", s.repeats,
             stats::allowed(s.repeats));
  if (!good)
    throw Error("the rule is wrong more often than it may be, or loses power with seeds", kCheckFailed);
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto settings = std::make_shared<CalibrateSettings>();
  CLI::App* verb =
      app.add_subcommand("calibrate", "how often verdicts are wrong, on tables whose truth is known");
  verb->add_flag("--full", settings->full, "the whole grid instead of the short one (minutes)");
  verb->add_option("--repeats", settings->repeats, "simulated comparisons for each number")
      ->check(CLI::Range(size_t{10}, size_t{1'000'000}))
      ->capture_default_str();
  verb->callback([settings] { print_calibration(*settings); });
}

}  // namespace darope
