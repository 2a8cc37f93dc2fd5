#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "report/judging.h"
#include "report/paper.h"

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
    if (dataset.everywhere() && dataset.at(x)) kept.push_back(&dataset);
  return kept;
}

void judge(const Gathered& all, const Datasets& datasets, const Summary& summary, stats::Noise& noise,
           Overall& overall) {
  std::vector<std::string> encodings = summary.encodings;
  for (const Dataset* dataset : datasets) {
    const std::vector<std::string> sound = sound_encodings(all, dataset->name);
    std::erase_if(encodings,
                  [&](const std::string& e) { return std::ranges::find(sound, e) == sound.end(); });
  }
  for (const std::string& encoding : summary.encodings)
    if (std::ranges::find(encodings, encoding) == encodings.end()) overall.diverged.push_back(encoding);
  if (encodings.size() < 2) return;
  std::vector<stats::Scores> tables;
  std::vector<const stats::Scores*> pointers;
  for (const Dataset* dataset : datasets)
    tables.push_back(score_table(all, dataset->name, dataset->metric, overall.x, encodings));
  for (const stats::Scores& table : tables) pointers.push_back(&table);
  stats::Judging rule{.higher_better = overall.metric.higher_better, .margin = overall.margin};
  for (const Dataset* dataset : datasets)
    rule.confidence =
        std::max(rule.confidence, rule_for(all, dataset->name, dataset->metric, summary.options).confidence);
  overall.suite = stats::judge_suite(pointers, rule, noise);
  overall.standings = standings(overall.suite->these_tasks, pointers, rule.higher_better);
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

// What the best constant answers reach on the same scale; nothing where one of them is not told.
std::optional<double> mean_of_constants(const Datasets& datasets, double x,
                                        std::optional<double> Metric::* chance) {
  stats::Values values;
  for (const Dataset* dataset : datasets)
    if (const auto constant = dataset->at(x)->best_constant)
      values.push_back(stats::chance_normalised(*constant, *(dataset->metric.*chance)));
  return values.size() == datasets.size() ? std::optional(stats::mean(values)) : std::nullopt;
}

Aggregate aggregate(const Summary& summary, double x, const std::string& over, const Datasets& datasets) {
  Aggregate result{.x = x,
                   .over = over,
                   .datasets = names_of(datasets),
                   .rows = {},
                   .constant = mean_of_constants(datasets, x, &Metric::chance),
                   .constant_true = mean_of_constants(datasets, x, &Metric::true_chance)};
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

// Families that the paper also takes together, or all but some.
Datasets in_group(const Datasets& datasets, const Json& group) {
  const auto listed = [&](const char* key, const Dataset& d) {
    return group.contains(key) && std::ranges::count(group.at(key), Json(d.family)) > 0;
  };
  return kept(datasets, [&](const Dataset& d) {
    return group.contains("of") ? listed("of", d) : !listed("without", d);
  });
}

}  // namespace

std::vector<Overall> overall_verdicts(const Gathered& all, const Summary& summary, stats::Noise& noise) {
  std::vector<Overall> result;
  for (const double x : summary.lengths) {
    std::map<std::string, Datasets> by_metric;
    for (const Dataset* dataset : common(summary, x)) by_metric[dataset->metric.name].push_back(dataset);
    for (const auto& [metric, datasets] : by_metric) {
      const Datasets learned =
          kept(datasets, [&](const Dataset& d) { return d.at(x)->learned && d.at(x)->judged; });
      Overall overall;
      overall.metric = datasets.front()->metric;
      overall.x = x;
      overall.margin = (*std::ranges::min_element(datasets, {}, &Dataset::margin))->margin;
      overall.datasets = names_of(learned);
      overall.not_learned = names_of(kept(datasets, [&](const Dataset& d) { return !d.at(x)->learned; }));
      if (!learned.empty()) judge(all, learned, summary, noise, overall);
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
    size_t wider = datasets.size();  // a group that holds as much says nothing new
    for (const Json& group : paper().at("groups")) {
      const Datasets members = in_group(datasets, group);
      const size_t least = group.contains("of") ? 2 : 1;  // one family of several has its own mean
      if (families_of(members).size() < least || members.size() >= wider) continue;
      result.push_back(aggregate(summary, x, group.at("over"), members));
      wider = members.size();
    }
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
  const auto named = [&](const char* key) {
    const std::string name = paper().at("control").at(key);
    const auto found = std::find_if(summary.datasets.begin(), summary.datasets.end(),
                                    [&](const Dataset& d) { return d.name == name; });
    return found == summary.datasets.end() ? nullptr : &*found;
  };
  const Dataset *twice = named("hard"), *once = named("easy");
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
