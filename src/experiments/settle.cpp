#include "experiments/settle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/open.h"
#include "experiments/past.h"
#include "report/settling.h"
#include "runs/facts.h"
#include "runs/runs.h"
#include "settings/hash.h"

namespace darope {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

bool is_finished(const RunConfig& run) { return RunFolder(run.dump_dir).is_finished(); }

// How long trainings took, by dataset and encoding, from those that are finished.
class RunTimes {
 public:
  explicit RunTimes(const std::vector<RunConfig>& plan) {
    for (const RunConfig& run : plan) {
      const RunFolder folder(run.dump_dir);
      if (!folder.is_finished() || !run.weights_of.empty()) continue;  // its facts are those of a training
      const std::string file = folder.facts().string();
      const RunFacts facts = parse_facts(parse_json(read_file(file), file), file);
      for (Mean* mean : {&all_, &own_[{dataset_name(run.data), run.model.encoding}]})
        mean->add(facts.seconds + facts.scoring_seconds);
    }
  }

  // Of those that are left, so many at a time.
  double of_those_left(const std::vector<RunConfig>& plan, int64_t jobs) const {
    double sum = 0, longest = 0;
    for (const RunConfig& run : plan) {
      if (is_finished(run) || !run.weights_of.empty()) continue;
      const auto known = own_.find({dataset_name(run.data), run.model.encoding});
      const double seconds = known == own_.end() ? all_.value() : known->second.value();
      sum += seconds;
      longest = std::max(longest, seconds);
    }
    return std::max(longest, sum / double(jobs));
  }

 private:
  struct Mean {
    double sum = 0, count = 0;
    void add(double value) { sum += value, ++count; }
    double value() const { return count > 0 ? sum / count : 0; }
  };
  Mean all_;
  std::map<std::pair<std::string, std::string>, Mean> own_;
};

using Looks = std::map<std::string, std::vector<Look>>;  // of one round, by dataset

// What a round left open: "jsb (darope, hope)".
std::vector<std::string> left_open(const Looks& looks) {
  std::vector<std::string> words;
  for (const auto& [dataset, places] : looks) {
    std::set<std::string> open;
    for (const Look& look : places) {
      open.insert(look.open.begin(), look.open.end());
      if (!look.open.empty()) open.insert(look.leader);
    }
    if (!open.empty()) words.push_back(fmt::format("{} ({})", dataset, fmt::join(open, ", ")));
  }
  return words;
}

void print_round(const Looks& looks, const std::vector<int64_t>& rounds) {
  int64_t round = 1;
  size_t decided = 0;
  std::vector<std::string> unlearned;
  for (const auto& [dataset, places] : looks)
    for (const Look& look : places) {
      round = std::max(round, look.round);
      decided += look.decided.size();
      if (!look.learned) unlearned.push_back(fmt::format("{} {:g}x", dataset, look.x));
    }
  fmt::print(stderr, "Round {} of {}, up to {} seeds: {} pair{} decided.{}\n", round, rounds.size(),
             rounds[size_t(round) - 1], decided, decided == 1 ? "" : "s",
             unlearned.empty() ? "" : fmt::format(" Not learned: {}.", fmt::join(unlearned, ", ")));
  if (const std::vector<std::string> open = left_open(looks); !open.empty())
    fmt::print(stderr, "Still open: {}.\n", fmt::join(open, "; "));
}

class Rounds {
 public:
  Rounds(const std::vector<RunConfig>& largest, const CompareConfig& config, const Launch& launch)
      : largest_(largest),
        config_(config),
        launch_(launch),
        folder_(config.dump_dir),
        record_(read_record(folder_)),
        budget_(parse_budget(config.until)) {}

  void run(const std::function<void(const std::vector<RunConfig>&)>& take) {
    while (!is_through()) {
      const std::vector<RunConfig> plan = asked_for(largest_, config_, record_);
      take(plan);
      if (!has_begun())
        say_first(plan);
      else if (!fits(plan))
        return;
      train(plan);
      const Looks looks = report::look_at(folder_.path(), record_,
                                          {config_.encodings, config_.seed, settings_beyond_encoding});
      for (const auto& [dataset, places] : looks) {
        std::vector<Look>& all = record_.datasets.at(dataset).settling->looks;
        all.insert(all.end(), places.begin(), places.end());
      }
      write_file(folder_.record(), to_text(record_));
      print_round(looks, config_.rounds);
    }
  }

 private:
  bool has_begun() const {  // a round is through
    return std::ranges::any_of(record_.datasets, [](const auto& each) {
      return each.second.settling && each.second.settling->rounds_made() > 0;
    });
  }

  bool is_through() const {
    return std::ranges::all_of(record_.datasets, [](const auto& each) {
      return !each.second.settling || each.second.settling->is_through();
    });
  }

  // The first round is made in any case, since without it nothing is known: before it begins, whoever set a
  // limit hears what it takes.
  void say_first(const std::vector<RunConfig>& plan) const {
    if (config_.until.empty() || std::ranges::all_of(plan, is_finished)) return;
    const auto trained = std::ranges::count(plan, "", &RunConfig::weights_of);
    const bool timed = budget_.seconds < kNoLimit;
    const double needed = timed ? seconds_of(plan, config_, launch_) : 0;
    const bool more = timed ? needed > budget_.seconds : trained > budget_.runs;
    fmt::print(stderr, "The first round is made in any case: {} trainings{}{}.\n", trained,
               timed ? fmt::format(", about {}", format_time(needed)) : "",
               more ? fmt::format(", more than --until {}", config_.until) : "");
  }

  bool fits(const std::vector<RunConfig>& plan) const {
    const double needed = RunTimes(plan).of_those_left(plan, pace_of(plan, config_).jobs);
    if (record_.seconds + needed > budget_.seconds) {
      fmt::print(stderr, "The next round would take about {}, and {} of {} are spent: no more rounds.\n",
                 format_time(needed), format_time(record_.seconds), config_.until);
      return false;
    }
    const auto trained = std::ranges::count(plan, "", &RunConfig::weights_of);
    if (trained > budget_.runs) {
      fmt::print(stderr, "With the next round there would be {} trainings, more than {}: no more rounds.\n",
                 trained, budget_.runs);
      return false;
    }
    return true;
  }

  // The time is kept even where the round is stopped.
  void train(const std::vector<RunConfig>& plan) {
    const auto start = std::chrono::steady_clock::now();
    const auto keep_time = [&] {
      record_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      write_file(folder_.record(), to_text(record_));
    };
    try {
      run_plan(plan, config_, launch_);
    } catch (const Error&) {
      keep_time();
      throw;
    }
    keep_time();
  }

  const std::vector<RunConfig>& largest_;
  const CompareConfig& config_;
  const Launch& launch_;
  ComparisonFolder folder_;
  ComparisonRecord record_;
  Budget budget_;
};

}  // namespace

Budget parse_budget(const std::string& until) {
  Budget budget{kNoLimit, std::numeric_limits<int64_t>::max()};
  if (until.empty()) return budget;
  const auto refuse = [&] {
    throw Error(fmt::format(
        "--until {}: it should be a time such as 2h, 1h30m or 45m, or a number of trainings", until));
  };
  const char *at = until.data(), *end = at + until.size();
  double seconds = 0;
  while (at != end) {
    int64_t number = 0;
    const auto [next, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || number <= 0) refuse();
    if (next == end) {
      if (at != until.data()) refuse();
      budget.runs = number;
      return budget;
    }
    const double unit = *next == 'h' ? 3600 : *next == 'm' ? 60 : *next == 's' ? 1 : 0;
    if (unit == 0) refuse();
    seconds += unit * double(number);
    at = next + 1;
  }
  budget.seconds = seconds;
  return budget;
}

ComparisonRecord fixed_by(const CompareConfig& config, const std::vector<RunConfig>& plan, bool settling) {
  ComparisonRecord::OfDataset fixed{.margins = config.margins};
  if (settling) {
    fixed.settling = Settling{.rounds = config.rounds, .until = config.until};
    std::map<std::string, std::string> encoding_of;
    for (const RunConfig& run : plan) {
      encoding_of[run.name] = run.model.encoding;
      if (!run.weights_of.empty())
        fixed.settling->weights_of[run.model.encoding] = encoding_of.at(run.weights_of);
    }
  }
  ComparisonRecord record;
  for (const RunConfig& run : plan) record.datasets[dataset_name(run.data)] = fixed;
  return record;
}

ComparisonRecord joined_to_folder(ComparisonRecord fixed, const ComparisonFolder& folder) {
  fixed.join(read_record(folder), folder.record().string());
  return fixed;
}

std::vector<RunConfig> asked_for(const std::vector<RunConfig>& largest, const CompareConfig& config,
                                 const ComparisonRecord& record) {
  std::map<std::string, std::map<std::string, int64_t>> asked;  // by dataset and encoding
  for (const auto& [name, of] : record.datasets)
    if (of.settling) asked[name] = of.settling->seeds_asked(config.encodings);
  std::vector<RunConfig> plan;
  std::copy_if(largest.begin(), largest.end(), std::back_inserter(plan), [&](const RunConfig& run) {
    return run.seed - config.seed < asked.at(dataset_name(run.data)).at(run.model.encoding);
  });
  return plan;
}

void settle(const std::vector<RunConfig>& largest, const CompareConfig& config,
            const std::function<void(const std::vector<RunConfig>&)>& take, const Launch& launch) {
  Rounds(largest, config, launch).run(take);
}

}  // namespace darope
