#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "report/summary.h"

namespace darope::report {
namespace {

using Datasets = std::vector<const Dataset*>;

std::vector<std::string> names_of(const Datasets& datasets) {
  std::vector<std::string> names;
  for (const Dataset* dataset : datasets) names.push_back(dataset->name);
  return names;
}

// Datasets every encoding was run on, at a length they were tested at.
Datasets common(const Summary& summary, double x) {
  Datasets kept;
  for (const Dataset& dataset : summary.datasets)
    if (dataset.everywhere && dataset.at(x)) kept.push_back(&dataset);
  return kept;
}

// One dataset's scores on a scale that all share: chance-normalised accuracy, or the loss as it is.
void append(const Dataset& dataset, const stats::Values& scores, size_t examples, stats::Values& pooled) {
  const double chance = dataset.metric.higher_better
                            ? dataset.metric.true_chance.value_or(dataset.metric.chance.value_or(0))
                            : 0;
  for (size_t i = 0; i < examples; ++i)
    pooled.push_back(chance > 0 ? stats::chance_normalised(scores[i], chance) : scores[i]);
}

const stats::Method* find(const std::vector<stats::Method>& methods, const std::string& name) {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [&](const stats::Method& m) { return m.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

// The examples of all datasets in a row, as many of each, so that every dataset weighs the same.
std::vector<stats::Method> pool(const std::vector<Paired>& pairs, const Datasets& datasets,
                                const std::vector<std::string>& encodings,
                                const std::vector<int64_t>& seeds) {
  size_t examples = pairs.front().methods.front().scores.front().size();
  for (const Paired& each : pairs) examples = std::min(examples, each.methods.front().scores.front().size());
  std::vector<stats::Method> pooled;
  for (const std::string& encoding : encodings) {
    pooled.push_back({encoding, {}});
    for (const int64_t seed : seeds) {
      stats::Values& row = pooled.back().scores.emplace_back();
      for (size_t d = 0; d < datasets.size(); ++d) {
        const size_t s =
            size_t(std::find(pairs[d].seeds.begin(), pairs[d].seeds.end(), seed) - pairs[d].seeds.begin());
        append(*datasets[d], find(pairs[d].methods, encoding)->scores[s], examples, row);
      }
    }
  }
  return pooled;
}

void name_leader(const std::vector<stats::Method>& methods, const stats::Rule& rule, Overall& overall) {
  const auto score = [&](const stats::Method& method) {
    stats::Values means;
    for (const stats::Values& seed : method.scores) means.push_back(stats::mean(seed));
    return rule.higher_better ? stats::mean(means) : -stats::mean(means);
  };
  overall.leader = std::max_element(methods.begin(), methods.end(), [&](const auto& a, const auto& b) {
                     return score(a) < score(b);
                   })->name;
  for (const stats::Comparison& pair : stats::compare_all(methods, rule)) {
    if (pair.first == overall.leader) overall.leads.push_back(pair);
    if (pair.second == overall.leader) overall.leads.push_back(stats::turned(pair));
  }
}

void judge(const Gathered& all, const Datasets& datasets, const Summary& summary, Overall& overall) {
  std::vector<Paired> pairs;
  for (const Dataset* dataset : datasets)
    pairs.push_back(paired(all, dataset->name, dataset->metric, overall.x));
  std::vector<std::string> encodings;
  for (const std::string& encoding : summary.encodings) {
    const bool sound =
        std::all_of(pairs.begin(), pairs.end(), [&](const Paired& p) { return find(p.methods, encoding); });
    (sound ? encodings : overall.diverged).push_back(encoding);
  }
  overall.seeds = pairs.front().seeds;
  for (const Paired& each : pairs) {
    std::vector<int64_t> shared;
    std::set_intersection(overall.seeds.begin(), overall.seeds.end(), each.seeds.begin(), each.seeds.end(),
                          std::back_inserter(shared));
    overall.seeds = shared;
  }
  if (overall.seeds.empty() || encodings.size() < 2) return;
  const std::vector<stats::Method> methods = pool(pairs, datasets, encodings, overall.seeds);
  const stats::Rule rule{.higher_better = overall.metric.higher_better, .margin = summary.options.margin};
  name_leader(methods, rule, overall);
  overall.tied = tied_names(methods, rule);
  if (find(methods, summary.reference))
    overall.comparisons = stats::compare_with(summary.reference, in_family(methods, summary), rule);
}

// The mean over datasets of one encoding's normalised scores, and its spread over seeds.
void mean_over(const Datasets& datasets, double x, size_t encoding, std::optional<double> Cell::* normalised,
               std::optional<double> Metric::* chance, std::optional<double>& mean,
               std::optional<double>& spread) {
  stats::Values means;
  stats::Table by_seed;
  for (const Dataset* dataset : datasets) {
    const Cell& cell = dataset->at(x)->cells[encoding];
    if (!(cell.*normalised) || !cell.diverged.empty())
      return;  // the seeds that survived are not a fair sample
    means.push_back(*(cell.*normalised));
    stats::Values& row = by_seed.emplace_back();
    for (const double score : cell.by_seed)
      row.push_back(stats::chance_normalised(score, *(dataset->metric.*chance)));
  }
  mean = stats::mean(means);
  const size_t seeds = by_seed.front().size();
  const bool whole = std::all_of(by_seed.begin(), by_seed.end(),
                                 [&](const stats::Values& row) { return row.size() == seeds; });
  if (whole && seeds > 1) spread = stats::propagated_seed_sd(by_seed);
}

Aggregate aggregate(const Summary& summary, double x, const std::string& over, const Datasets& datasets) {
  Aggregate result{.x = x, .over = over, .datasets = names_of(datasets), .rows = {}};
  for (size_t e = 0; e < summary.encodings.size(); ++e) {
    Aggregate::Row& row = result.rows.emplace_back();
    row.encoding = summary.encodings[e];
    mean_over(datasets, x, e, &Cell::normalised, &Metric::chance, row.normalised, row.normalised_sd);
    mean_over(datasets, x, e, &Cell::normalised_true, &Metric::true_chance, row.normalised_true,
              row.normalised_true_sd);
  }
  return result;
}

template <class Keep>
Datasets kept(const Datasets& datasets, const Keep& keep) {
  Datasets result;
  std::copy_if(datasets.begin(), datasets.end(), std::back_inserter(result),
               [&](const Dataset* d) { return keep(*d); });
  return result;
}

std::set<std::string> families_of(const Datasets& datasets) {
  std::set<std::string> families;
  for (const Dataset* dataset : datasets) families.insert(dataset->family);
  return families;
}

// The language classes of the paper's suite, which it also takes together.
bool is_chomsky(const Dataset& d) {
  return d.family == "regular" || d.family == "context-free" || d.family == "context-sensitive";
}

}  // namespace

std::vector<Overall> overall_verdicts(const Gathered& all, const Summary& summary) {
  std::vector<Overall> result;
  for (const double x : summary.lengths) {
    std::map<std::string, Datasets> by_metric;
    for (const Dataset* dataset : common(summary, x)) by_metric[dataset->metric.name].push_back(dataset);
    for (const auto& [metric, datasets] : by_metric) {
      const Datasets learned =
          kept(datasets, [&](const Dataset& d) { return d.at(x)->learned && !d.at(x)->seeds.empty(); });
      Overall overall;
      overall.metric = datasets.front()->metric;
      overall.x = x;
      overall.datasets = names_of(learned);
      overall.not_learned = names_of(kept(datasets, [&](const Dataset& d) { return !d.at(x)->learned; }));
      if (!learned.empty()) judge(all, learned, summary, overall);
      result.push_back(std::move(overall));
    }
  }
  return result;
}

std::vector<Aggregate> aggregates(const Summary& summary) {
  std::vector<Aggregate> result;
  for (const double x : summary.lengths) {
    const Datasets datasets = kept(common(summary, x), [](const Dataset& d) {
      return d.metric.higher_better && d.metric.chance && d.metric.true_chance;
    });
    if (datasets.empty()) continue;
    result.push_back(aggregate(summary, x, "all", datasets));
    const Datasets others = kept(datasets, [](const Dataset& d) { return d.family != "retrieval"; });
    if (!others.empty() && others.size() < datasets.size())
      result.push_back(aggregate(summary, x, "without retrieval", others));
    const Datasets chomsky = kept(datasets, is_chomsky);
    if (families_of(chomsky).size() > 1 && chomsky.size() < others.size())
      result.push_back(aggregate(summary, x, "Chomsky", chomsky));
    for (const std::string& family : families_of(datasets))
      result.push_back(aggregate(summary, x, family,
                                 kept(datasets, [&](const Dataset& d) { return d.family == family; })));
  }
  return result;
}

std::vector<Ranking> rankings(const Summary& summary) {
  std::vector<Ranking> result;
  for (const double x : summary.lengths) {
    const Datasets datasets = kept(common(summary, x), [&](const Dataset& d) { return d.at(x)->learned; });
    if (datasets.empty()) continue;
    stats::Table scores;
    for (const Dataset* dataset : datasets) {
      stats::Values& row = scores.emplace_back();
      double worst = std::numeric_limits<double>::infinity();
      const double sign = dataset->metric.higher_better ? 1 : -1;
      for (const Cell& cell : dataset->at(x)->cells)
        if (cell.mean) worst = std::min(worst, sign * *cell.mean);
      // An encoding with a diverged run stands behind all that have none.
      for (const Cell& cell : dataset->at(x)->cells)
        row.push_back(cell.mean && cell.diverged.empty() ? sign * *cell.mean : worst - 1);
    }
    result.push_back({x, names_of(datasets), stats::mean_ranks(scores, true)});
  }
  return result;
}

std::vector<Gap> recall_gaps(const Summary& summary) {
  const auto named = [&](const char* name) {
    const auto found = std::find_if(summary.datasets.begin(), summary.datasets.end(),
                                    [&](const Dataset& d) { return d.name == name; });
    return found == summary.datasets.end() ? nullptr : &*found;
  };
  const Dataset *twice = named("dup_key_recall"), *once = named("assoc_recall");
  std::vector<Gap> gaps;
  if (!twice || !once) return gaps;
  for (const AtLength& at : twice->lengths)
    for (size_t e = 0; e < summary.encodings.size() && once->at(at.x); ++e) {
      const Cell &a = at.cells[e], &b = once->at(at.x)->cells[e];
      if (!a.mean || !b.mean) continue;
      Gap gap{.x = at.x, .encoding = a.encoding, .gap = *a.mean - *b.mean, .seed_sd = {}};
      if (a.seeds == b.seeds && a.seeds.size() > 1)
        gap.seed_sd = stats::sd(stats::differences(a.by_seed, b.by_seed));
      gaps.push_back(gap);
    }
  return gaps;
}

}  // namespace darope::report
