#include "report/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"
#include "report/words.h"

namespace darope::report {
namespace {

// Seconds that seeds of every encoding take on a dataset beyond those that are there.
double seconds_for(const Gathered& all, const std::string& dataset, size_t seeds) {
  double total = 0;
  for (const std::string& encoding : all.encodings) {
    double sum = 0, runs = 0;
    for (const Run* run : all.runs_of(dataset, encoding)) {
      if (run->diverged) continue;
      sum += run->seconds + run->scoring_seconds;
      ++runs;
    }
    if (runs > 0) total += sum / runs * std::max(0.0, double(seeds) - runs);
  }
  return total;
}

// The most that any pair needs; one that cannot say, or is out of reach, stands for all.
stats::Need most_needed(const std::vector<stats::PairVerdict>& pairs, size_t encodings, double difference) {
  stats::Need most;
  for (const stats::PairVerdict& pair : pairs) {
    if (stats::is_better(pair.verdict) || stats::is_worse(pair.verdict)) continue;
    if (pair.about_encodings() && stats::detectable(pair) <= difference) continue;
    const stats::Need need = stats::seeds_for(difference, pair, encodings);
    if (need.by > most.by || (need.by == most.by && need.seeds > most.seeds)) most = need;
  }
  return most;
}

std::optional<Power> power_of(const Gathered& all, const stats::Judged& judged, Power power,
                              const std::vector<std::string>& datasets) {
  std::vector<stats::PairVerdict> pairs;
  std::ranges::copy_if(judged.pairs, std::back_inserter(pairs), [](const auto& p) { return p.seeds > 0; });
  if (pairs.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(pairs, {}, stats::detectable);
  power.least_seen = stats::detectable(*least);
  power.most_seen = stats::detectable(*most);
  power.seeds = std::ranges::min_element(pairs, {}, &stats::PairVerdict::seeds)->seeds;
  for (const double times : {0.5, 1.0, 2.0}) {
    Power::For what{.difference = times * power.margin,
                    .need = most_needed(pairs, judged.encodings.size(), times * power.margin)};
    for (const std::string& dataset : datasets) what.seconds += seconds_for(all, dataset, what.need.seeds);
    power.differences.push_back(what);
  }
  return power;
}

}  // namespace

std::vector<Power> powers(const Gathered& all, const Summary& summary) {
  std::vector<Power> rows;
  const auto add = [&](const std::optional<Power>& power) {
    if (power) rows.push_back(*power);
  };
  for (const Overall& o : summary.overall)
    if (o.suite && o.datasets.size() > 1)
      add(power_of(all, o.suite->these_tasks, {.of = "", .metric = o.metric, .x = o.x, .margin = o.margin},
                   o.datasets));
  for (const Dataset& d : summary.datasets)
    for (const AtLength& at : d.lengths)
      if (at.judged && at.learned)
        add(power_of(all, *at.judged, {.of = d.name, .metric = d.metric, .x = at.x, .margin = d.margin},
                     {d.name}));
  return rows;
}

std::string time_text(double seconds) {
  return seconds < 120    ? fmt::format("{:.1f} s", seconds)
         : seconds < 7200 ? fmt::format("{:.1f} min", seconds / 60)
                          : fmt::format("{:.1f} h", seconds / 3600);
}

std::string in_words(const Power::For& what) {
  if (what.need.by == stats::Need::By::nothing) return "the present runs";
  std::string text = in_words(what.need);
  if (what.need.by == stats::Need::By::seeds) text += fmt::format(", {} more", time_text(what.seconds));
  return text;
}

std::string terminal_power(const std::vector<Power>& rows) {
  if (rows.empty()) return "Nothing was learned that two encodings could be compared on.\n";
  std::string text =
      "What pairs could see with 80 % power, and what a difference takes where pairs are still open:\n";
  for (const Power& row : rows) {
    const bool share = row.metric.is_share();
    text +=
        fmt::format("{} {}, {} seed{}: {} to {} {}\n", row.of.empty() ? "all datasets" : printable(row.of),
                    printable(at_place(row.metric.axis, row.x)), row.seeds, row.seeds == 1 ? "" : "s",
                    size_text(row.least_seen, share), size_text(row.most_seen, share), unit_text(row.metric));
    for (const Power::For& what : row.differences)
      text += fmt::format("  {:>8}: {}\n", size_text(what.difference, share), in_words(what));
  }
  return text;
}

}  // namespace darope::report
