#include "report/judging.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "stats/settle.h"

namespace darope::report {
namespace {

// Clusters numbered from 0 in the order they appear; without any, each example is its own.
std::vector<int64_t> numbered(const Scores& scores) {
  std::vector<int64_t> result;
  std::map<int64_t, int64_t> numbers;
  for (size_t i = 0; i < scores.values.size(); ++i) {
    const int64_t cluster = scores.clusters.empty() ? int64_t(i) : scores.clusters[i];
    result.push_back(numbers.emplace(cluster, int64_t(numbers.size())).first->second);
  }
  return result;
}

// A run's values by cluster, on the scale that datasets share.
stats::Values values_of(const Scores& scores, const Metric& metric, double x) {
  stats::Values values = stats::by_cluster(scores.values, numbered(scores));
  if (metric.is_share())
    for (double& value : values) value = stats::chance_normalised(value, floor_of(metric, x));
  return values;
}

size_t witnesses_of(const Scores& scores) {
  const std::vector<int64_t> clusters = numbered(scores);
  std::vector<size_t> sizes(size_t(*std::ranges::max_element(clusters)) + 1);
  for (const int64_t cluster : clusters) ++sizes[size_t(cluster)];
  return stats::witnesses(sizes);
}

stats::Values runs_of(const stats::Scores& table, size_t encoding) {
  stats::Values runs;
  for (size_t s = 0; s < table.seeds(); ++s)
    if (table.has(encoding, s)) runs.push_back(stats::mean(table.at(encoding, s)));
  return runs;
}

}  // namespace

std::vector<std::string> sound_encodings(const Gathered& all, const std::string& dataset) {
  std::vector<std::string> sound;
  for (const std::string& encoding : all.encodings) {
    const std::vector<const Run*> runs = all.runs_of(dataset, encoding);
    if (!runs.empty() && std::ranges::none_of(runs, [](const Run* run) { return run->diverged; }))
      sound.push_back(encoding);
  }
  return sound;
}

double margin_of(const Gathered& all, const std::string& dataset, const Metric& metric,
                 const Options& options) {
  if (options.margin) {
    if (*options.margin >= 0 && std::isfinite(*options.margin)) return *options.margin;
    throw Error("the margin is " + std::to_string(*options.margin) + ": it must be at least 0");
  }
  const auto fixed = all.record.datasets.find(dataset);
  const Margins margins = fixed == all.record.datasets.end() ? Margins{} : fixed->second.margins;
  return metric.unit == kNats ? margins.loss : margins.accuracy;
}

const Settling* settling_of(const Gathered& all, const std::string& dataset) {
  const auto found = all.record.datasets.find(dataset);
  return found == all.record.datasets.end() || !found->second.settling ? nullptr : &*found->second.settling;
}

stats::Judging rule_for(const Gathered& all, const std::string& dataset, const Metric& metric,
                        const Options& options) {
  const stats::Judging rule{.higher_better = metric.higher_better,
                            .margin = margin_of(all, dataset, metric, options),
                            .confidence = 0.95};
  const Settling* settling = settling_of(all, dataset);
  if (!settling) return rule;
  return stats::SettlePlan{.seeds = {settling->rounds.begin(), settling->rounds.end()}}.rule_of_a_round(rule);
}

double floor_of(const Metric& metric, double x) {
  const double chance = metric.true_chance.value_or(metric.chance.value_or(0));
  const auto constant = metric.floor.find(x);
  return constant == metric.floor.end() ? chance : std::max(chance, constant->second);
}

stats::Scores score_table(const Gathered& all, const std::string& dataset, const Metric& metric, double x,
                          const std::vector<std::string>& encodings) {
  std::optional<stats::Scores> table;
  for (size_t e = 0; e < encodings.size(); ++e)
    for (size_t s = 0; s < all.seeds.size(); ++s) {
      const Run* run = all.find(dataset, encodings[e], all.seeds[s]);
      if (!run) continue;
      const stats::Values values = values_of(run->scores.at(key_of(metric)).at(x), metric, x);
      if (!table) {
        table.emplace(dataset, encodings, all.seeds.size(), values.size());
        table->set_witnesses(witnesses_of(run->scores.at(key_of(metric)).at(x)));
      }
      table->set(e, s, values);
    }
  if (!table) throw Error(dataset + ": no run to compare");
  return *table;
}

std::vector<Standing> standings(const stats::Judged& judged, const std::vector<const stats::Scores*>& tables,
                                bool higher_better) {
  const stats::Values halves = stats::half_widths(judged);
  std::vector<Standing> result;
  for (size_t e = 0; e < judged.encodings.size(); ++e) {
    Standing standing{.encoding = judged.encodings[e], .mean = 0, .half_width = halves[e], .runs = {}};
    for (const stats::Scores* table : tables)
      standing.mean += stats::mean(runs_of(*table, e)) / double(tables.size());
    for (size_t s = 0; s < tables.front()->seeds(); ++s) {
      const auto has = [&](const stats::Scores* t) { return s < t->seeds() && t->has(e, s); };
      if (!std::all_of(tables.begin(), tables.end(), has)) continue;
      double run = 0;
      for (const stats::Scores* table : tables) run += stats::mean(table->at(e, s)) / double(tables.size());
      standing.runs.push_back(run);
    }
    result.push_back(standing);
  }
  std::stable_sort(result.begin(), result.end(), [&](const Standing& a, const Standing& b) {
    return higher_better ? a.mean > b.mean : a.mean < b.mean;
  });
  return result;
}

std::vector<Split> splits(const stats::Scores& table, const stats::Judged& judged, const Metric& metric,
                          const stats::Judging& rule) {
  constexpr double kUsualAtMost = 0.1;  // of what can be learned: where most fall apart, that is not usual
  std::vector<Split> found;
  const size_t encodings = judged.encodings.size();
  stats::Values sds;
  for (size_t e = 0; e < encodings; ++e)
    if (const stats::Values runs = runs_of(table, e); runs.size() > 1) sds.push_back(stats::sd(runs));
  if (sds.empty()) return found;
  std::sort(sds.begin(), sds.end());
  const double middle = sds[(sds.size() - 1) / 2];
  const double usual = metric.is_share() ? std::min(middle, kUsualAtMost) : middle;
  for (size_t e = 0; e < encodings; ++e)
    if (const auto modes = stats::two_groups(runs_of(table, e), rule.margin, usual))
      found.push_back({judged.encodings[e], rule.higher_better ? modes->high : modes->low, *modes});
  return found;
}

Paired paired(const Gathered& all, const std::string& dataset, const Metric& metric, double x) {
  const std::vector<std::string> sound = sound_encodings(all, dataset);
  Paired result;
  for (const int64_t seed : all.seeds)
    if (std::all_of(sound.begin(), sound.end(),
                    [&](const std::string& e) { return all.find(dataset, e, seed); }))
      result.seeds.push_back(seed);
  if (result.seeds.empty()) return result;
  for (const std::string& encoding : sound) {
    result.methods.push_back({encoding, {}});
    for (const int64_t seed : result.seeds)
      result.methods.back().scores.push_back(
          all.find(dataset, encoding, seed)->scores.at(key_of(metric)).at(x).values);
  }
  return result;
}

}  // namespace darope::report
