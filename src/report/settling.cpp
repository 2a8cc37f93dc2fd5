#include "report/settling.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "report/judging.h"
#include "stats/settle.h"

namespace darope::report {
namespace {

// The seeds of a dataset's plan: the first, and how many of each encoding.
struct Seeds {
  int64_t first = 0;
  std::map<std::string, int64_t> counts;

  bool have(const Run& run) const {
    const auto count = counts.find(run.typed);
    return count != counts.end() && run.seed >= first && run.seed - first < count->second;
  }
};

Gathered of_the_rounds(const std::filesystem::path& comparison, const ComparisonRecord& record,
                       const Rounds& rounds) {
  Gathered all = gather({comparison}, {}, rounds.settings, Include::kAllRuns);
  std::map<std::string, Seeds> asked;
  for (const auto& [name, dataset] : record.datasets)
    if (dataset.settling) asked[name] = {rounds.first_seed, dataset.settling->seeds_asked(rounds.encodings)};
  std::erase_if(all.runs, [&](const Run& run) {
    const auto seeds = asked.find(run.dataset);
    return seeds == asked.end() || !seeds->second.have(run);
  });
  std::set<int64_t> seeds;
  for (Run& run : all.runs) {
    run.encoding = run.typed;
    seeds.insert(run.seed);
  }
  all.index();
  all.seeds.assign(seeds.begin(), seeds.end());
  all.encodings = rounds.encodings;
  all.record = record;
  return all;
}

std::vector<Look> looks_at_place(const Settling& settling, double x) {
  std::vector<Look> looks;
  std::ranges::copy_if(settling.looks, std::back_inserter(looks), [&](const Look& l) { return l.x == x; });
  return looks;
}

stats::PairVerdict verdict_of(const Decision& decision, size_t first, size_t second) {
  stats::PairVerdict pair;
  pair.first = first;
  pair.second = second;
  pair.difference = decision.difference;
  pair.interval = {decision.low, decision.high};
  pair.verdict = stats::verdict_named(decision.verdict);
  pair.seeds = size_t(std::max<int64_t>(decision.seeds, 0));
  return pair;
}

// The decision on a pair, from its first encoding's side, and the round that made it.
std::optional<stats::Settled::Decision> decided(const std::vector<Look>& looks,
                                                const std::vector<std::string>& names, size_t first,
                                                size_t second) {
  for (const Look& look : looks)
    for (const Decision& each : look.decided) {
      if (each.first == names[first] && each.second == names[second])
        return stats::Settled::Decision{size_t(look.round), verdict_of(each, first, second)};
      if (each.first == names[second] && each.second == names[first])
        return stats::Settled::Decision{size_t(look.round), turned(verdict_of(each, second, first))};
    }
  return std::nullopt;
}

stats::Settled settled_before(const std::vector<Look>& looks, const std::vector<std::string>& names) {
  stats::Settled before;
  before.rounds = looks.empty() ? 0 : size_t(looks.back().round);
  if (looks.empty()) return before;
  for (size_t a = 0; a < names.size(); ++a)
    for (size_t b = a + 1; b < names.size(); ++b)
      before.pairs.push_back(decided(looks, names, a, b).value_or(stats::Settled::Decision{}));
  return before;
}

Look in_names(const stats::Settled& settled, const std::vector<std::string>& names, double x) {
  Look look{.round = int64_t(settled.rounds), .x = x, .leader = names[*settled.leader]};
  for (const stats::Settled::Decision& each : settled.pairs) {
    const stats::PairVerdict& pair = each.pair;
    if (each.round == 0 && (pair.first == *settled.leader || pair.second == *settled.leader))
      look.open.push_back(names[pair.first == *settled.leader ? pair.second : pair.first]);
    if (each.round == settled.rounds)
      look.decided.push_back({names[pair.first], names[pair.second],
                              std::string(stats::name_of(pair.verdict)), pair.difference, pair.interval.low,
                              pair.interval.high, int64_t(pair.seeds)});
  }
  return look;
}

// Nothing where there is nothing to settle: fewer than two sound encodings, one source of examples, or a
// place that the last round closed.
std::optional<Look> look_at_place(const Gathered& all, const std::string& dataset, const Metric& metric,
                                  double x, stats::Noise& noise) {
  const Settling& settling = *settling_of(all, dataset);
  const std::vector<Look> looks = looks_at_place(settling, x);
  const int64_t round = settling.rounds_made() + 1;
  if (round > 1 && (looks.empty() || looks.back().round + 1 != round || looks.back().open.empty()))
    return std::nullopt;
  const std::vector<std::string> sound = sound_encodings(all, dataset);
  if (sound.size() < 2) return std::nullopt;
  const stats::Scores table = score_table(all, dataset, metric, x, sound);
  if (table.clusters() < 2) return std::nullopt;
  const stats::SettlePlan plan{.seeds = {settling.rounds.begin(), settling.rounds.end()}};
  stats::Judging rule{.higher_better = metric.higher_better, .margin = margin_of(all, dataset, metric, {})};
  const stats::Settled settled = settle(table, plan, rule, settled_before(looks, sound), noise);
  // A dataset that nobody learned has no "better". Where some runs solved it, more seeds may show that.
  const bool learned = !metric.is_share() || stats::is_learned(table, 0, plan.rule_of_a_round(rule), noise);
  const bool solved_at_times = !splits(table, stats::judge(table, rule, noise), metric, rule).empty();
  if (!learned && !solved_at_times) return Look{.round = round, .x = x, .learned = false};
  return in_names(settled, sound, x);
}

// What the last round of each settled dataset has judged.
std::map<std::string, Seeds> judged_seeds(const Gathered& all) {
  std::map<std::string, std::set<std::string>> encodings;
  std::map<std::string, Seeds> judged;
  for (const Run& run : all.runs) {
    encodings[run.dataset].insert(run.typed);
    Seeds& seeds = judged.emplace(run.dataset, Seeds{run.seed, {}}).first->second;
    seeds.first = std::min(seeds.first, run.seed);
  }
  std::erase_if(judged, [&](const auto& each) { return !settling_of(all, each.first); });
  for (auto& [dataset, seeds] : judged)
    seeds.counts =
        settling_of(all, dataset)->seeds_judged({encodings[dataset].begin(), encodings[dataset].end()});
  return judged;
}

}  // namespace

void leave_out_unjudged(Gathered& all) {
  const std::map<std::string, Seeds> judged = judged_seeds(all);
  std::map<std::string, size_t> left_out;
  std::erase_if(all.runs, [&](const Run& run) {
    const auto seeds = judged.find(run.dataset);
    const bool gone = seeds != judged.end() && !seeds->second.have(run);
    if (gone) ++left_out[run.dataset];
    return gone;
  });
  for (const auto& [dataset, runs] : left_out)
    all.notes.push_back(fmt::format(
        "{} run{} of {} left out: no round has judged {} yet, and to look sooner would be a look "
        "more than was planned.",
        runs, runs == 1 ? "" : "s", dataset + (runs == 1 ? " is" : " are"), runs == 1 ? "it" : "them"));
}

std::map<std::string, std::vector<Look>> look_at(const std::filesystem::path& comparison,
                                                 const ComparisonRecord& record, const Rounds& rounds) {
  const Gathered all = of_the_rounds(comparison, record, rounds);
  stats::Noise noise;
  std::map<std::string, std::vector<Look>> result;
  for (const auto& [dataset, of] : record.datasets) {
    const std::vector<const Run*> runs = all.runs_of(dataset);
    const auto run = std::ranges::find_if(runs, [](const Run* each) { return !each->diverged; });
    if (!of.settling || of.settling->is_through()) continue;
    std::vector<Look>& looks = result[dataset];
    if (run != runs.end())
      for (const auto& [x, scores] : (*run)->scores.at(key_of((*run)->metrics.front())))
        if (const auto look = look_at_place(all, dataset, (*run)->metrics.front(), x, noise))
          looks.push_back(*look);
    if (looks.empty()) looks.push_back({.round = of.settling->rounds_made() + 1});  // nothing to compare
  }
  return result;
}

void let_stand(const Settling& settling, double x, stats::Judged& judged) {
  if (settling.rounds_made() == 0)
    for (stats::PairVerdict& pair : judged.pairs) pair.verdict = stats::Verdict::undecided;
  const std::vector<Look> looks = looks_at_place(settling, x);
  for (stats::PairVerdict& pair : judged.pairs)
    if (pair.verdict == stats::Verdict::undecided)
      if (const auto earlier = decided(looks, judged.encodings, pair.first, pair.second)) {
        pair.verdict = earlier->pair.verdict;
        pair.difference = earlier->pair.difference;
        pair.interval = earlier->pair.interval;
        pair.seeds = earlier->pair.seeds;
      }
}

}  // namespace darope::report
