#include "report/power.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fold.h"
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
      if (run->diverged || !run->weights_of.empty()) continue;
      sum += run->seconds + run->scoring_seconds;
      ++runs;
    }
    if (runs > 0) total += sum / runs * std::max(0.0, double(seeds) - runs);
  }
  return total;
}

// What the pairs need that are not told apart yet. In `need`, one that cannot say, or is out of reach, stands
// for all.
Power::For what_it_takes_to_see(double difference, const std::vector<stats::PairVerdict>& pairs,
                                size_t encodings) {
  Power::For what{.difference = difference};
  for (const stats::PairVerdict& pair : pairs) {
    if (stats::is_better(pair.verdict) || stats::is_worse(pair.verdict)) continue;
    if (pair.about_encodings() && stats::detectable(pair) <= difference) continue;
    const stats::Need need = stats::seeds_for(difference, pair, encodings);
    what.open.push_back(pair);
    what.seeds = std::max(what.seeds, need.seeds);
    if (need.by == stats::Need::By::out_of_reach) what.out_of_reach.push_back(pair);
    if (need.by > what.need.by || (need.by == what.need.by && need.seeds > what.need.seeds)) what.need = need;
  }
  return what;
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
    Power::For what = what_it_takes_to_see(times * power.margin, pairs, judged.encodings.size());
    for (const std::string& dataset : datasets) what.seconds += seconds_for(all, dataset, what.seeds);
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
  if (what.seeds == 0) return in_words(what.need);
  return fmt::format("{}, {} more", in_words(stats::Need{stats::Need::By::seeds, what.seeds}),
                     time_text(what.seconds));
}

std::string reach_in_words(const Power::For& what) {
  if (what.seeds == 0 || what.out_of_reach.empty()) return "";
  return fmt::format("for {} of {} open pairs; the others are out of reach",
                     what.open.size() - what.out_of_reach.size(), what.open.size());
}

std::vector<std::string> limits_of_seeds(const std::vector<stats::PairVerdict>& pairs) {
  const auto by_examples = [](const stats::PairVerdict& pair) {
    return pair.examples > pair.runs * double(pair.seeds) / double(stats::kMostSeeds);
  };
  std::vector<std::string> limits;
  if (std::ranges::any_of(pairs, by_examples)) limits.emplace_back("the test is too small");
  if (!std::ranges::all_of(pairs, by_examples)) limits.emplace_back("runs vary too much");
  return limits;
}

std::string out_of_reach_in_words(const std::vector<Power>& rows) {
  std::vector<stats::PairVerdict> pairs;
  for (const Power& row : rows)
    for (const Power::For& what : row.differences)
      pairs.insert(pairs.end(), what.out_of_reach.begin(), what.out_of_reach.end());
  if (pairs.empty()) return "";
  return fmt::format(
      "Out of reach of seeds: with a thousand of them {} for so small a difference. A larger test would help "
      "(more data, or more of it: data.test_examples, data.test_share, --test), or a larger margin would do.",
      and_list(limits_of_seeds(pairs)));
}

// Differences that take the same share a line.
static std::string differences_in_words(const Power& row) {
  const auto size = [&](const Power::For& what) { return size_text(what.difference, row.metric.is_share()); };
  const auto takes = [](const Power::For& what) {
    const std::string reach = reach_in_words(what);
    return in_words(what) + (reach.empty() ? "" : ", " + reach);
  };
  std::string text;
  for (size_t i = 0, next; i < row.differences.size(); i = next) {
    const std::string words = takes(row.differences[i]);
    for (next = i + 1; next < row.differences.size() && takes(row.differences[next]) == words;) ++next;
    const std::string first = size(row.differences[i]), last = size(row.differences[next - 1]);
    text += fmt::format("  {:>16}: {}\n", first == last ? first : first + " to " + last, words);
  }
  return text;
}

std::string terminal_power(const std::vector<Power>& rows, size_t columns) {
  if (rows.empty()) return "Nothing was learned that two encodings could be compared on.\n";
  std::string text = folded(
      "What pairs could see with 80 % power, and what a difference takes where pairs are still open:\n",
      columns);
  for (const Power& row : rows) {
    const bool share = row.metric.is_share();
    text +=
        fmt::format("{} {}, {}: {} to {} {}\n", row.of.empty() ? "all datasets" : printable(row.of),
                    printable(at_place(row.metric.axis, row.x)), plural(row.seeds, "seed"),
                    size_text(row.least_seen, share), size_text(row.most_seen, share), unit_text(row.metric));
    text += differences_in_words(row);
  }
  if (const std::string why = out_of_reach_in_words(rows); !why.empty()) text += folded(why, columns) + "\n";
  return text;
}

}  // namespace darope::report
