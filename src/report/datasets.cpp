#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "report/summary.h"
#include "stats/within.h"

namespace darope::report {
namespace {

constexpr int64_t kFewestExamples = 3;  // what a paired test needs

// The first of these that a dataset was scored by is what its encodings are compared on.
struct Metric {
  const char* name;
  bool higher_better;
};
constexpr Metric kPrimary[] = {{"token_accuracy", true}, {"exact_match", true}, {"nll", false}};

const Run* first_finished(const Gathered& all, const std::string& dataset) {
  for (const Run& run : all.runs)
    if (run.dataset == dataset && !run.diverged) return &run;
  return nullptr;
}

const Metric& primary_metric(const Run& run) {
  for (const Metric& metric : kPrimary)
    if (run.scores.contains(metric.name)) return metric;
  throw Error(
      fmt::format("{} has scores of no metric a comparison is made on: token_accuracy, exact_match or nll",
                  run.folder.string()));
}

const stats::Values* values_of(const std::map<std::string, Run::Scores>& by_metric, const std::string& metric,
                               double x) {
  const auto found = by_metric.find(metric);
  if (found == by_metric.end()) return nullptr;
  const auto at = found->second.find(x);
  return at == found->second.end() ? nullptr : &at->second;
}
const stats::Values* scores_of(const Run& run, const std::string& metric, double x) {
  return values_of(run.scores, metric, x);
}

// The mean over tokens instead of examples.
std::optional<double> pooled_over_tokens(const Run& run, const std::string& metric, double x) {
  const stats::Values *scores = scores_of(run, metric, x), *tokens = values_of(run.scored_tokens, metric, x);
  if (!tokens) return std::nullopt;
  const double all = std::accumulate(tokens->begin(), tokens->end(), 0.0);
  return std::inner_product(scores->begin(), scores->end(), tokens->begin(), 0.0) / all;
}

// The mean over finished seeds of a metric beside the main one.
std::optional<double> beside(const Gathered& all, const std::string& dataset, const std::string& encoding,
                             const std::string& metric, double x) {
  stats::Values means;
  for (const int64_t seed : all.seeds)
    if (const Run* run = all.find(dataset, encoding, seed))
      if (const stats::Values* scores = scores_of(*run, metric, x)) means.push_back(stats::mean(*scores));
  if (means.empty()) return std::nullopt;
  return stats::mean(means);
}

Cell make_cell(const Gathered& all, const Dataset& dataset, const AtLength& at, const std::string& encoding) {
  Cell cell;
  cell.encoding = encoding;
  stats::Values pooled;
  for (const int64_t seed : all.seeds) {
    const Run* run = all.find(dataset.name, encoding, seed);
    if (run && run->diverged) cell.diverged.push_back(seed);
    if (!run || run->diverged) continue;
    cell.seeds.push_back(seed);
    cell.by_seed.push_back(stats::mean(*scores_of(*run, dataset.metric, at.x)));
    if (const auto value = pooled_over_tokens(*run, dataset.metric, at.x)) pooled.push_back(*value);
  }
  if (cell.by_seed.empty()) return cell;
  if (pooled.size() == cell.by_seed.size()) cell.pooled = stats::mean(pooled);
  cell.mean = stats::mean(cell.by_seed);
  if (cell.by_seed.size() > 1) cell.seed_sd = stats::sd(cell.by_seed);
  if (dataset.higher_better && dataset.chance)
    cell.normalised = stats::chance_normalised(*cell.mean, *dataset.chance);
  if (dataset.higher_better && dataset.true_chance)
    cell.normalised_true = stats::chance_normalised(*cell.mean, *dataset.true_chance);
  cell.free_running = beside(all, dataset.name, encoding, "free_running", at.x);
  cell.n_free = beside(all, dataset.name, encoding, "nll_n_free", at.x);
  if (const auto share = beside(all, dataset.name, encoding, "exact_match", at.x)) {
    const int64_t hits = std::lround(*share * double(at.examples));
    cell.exact_match = {*share, stats::wilson(hits, at.examples), stats::wald(hits, at.examples)};
  }
  return cell;
}

void add_within_example_widths(const Paired& pairs, AtLength& at) {
  stats::Table averages;
  for (const stats::Method& method : pairs.methods) {
    averages.emplace_back(method.scores.front().size());
    for (const stats::Values& seed : method.scores)
      for (size_t i = 0; i < seed.size(); ++i) averages.back()[i] += seed[i] / double(method.scores.size());
  }
  at.loftus_masson = stats::loftus_masson(averages);
  const stats::Values half_widths = stats::cousineau_morey(averages);
  for (size_t m = 0; m < pairs.methods.size(); ++m)
    for (Cell& cell : at.cells)
      if (cell.encoding == pairs.methods[m].name) cell.cousineau_morey = half_widths[m];
}

bool is_learned(const Dataset& dataset, const AtLength& at, const std::vector<stats::Method>& methods,
                const stats::Rule& rule) {
  if (!dataset.higher_better) return true;  // a run tells no loss that needs no learning
  const double chance = std::max(dataset.chance.value_or(0), dataset.true_chance.value_or(0));
  return stats::learned(methods, chance, at.best_constant.value_or(0), rule);
}

void compare_at(const Gathered& all, const Dataset& dataset, AtLength& at, Summary& summary) {
  const Paired pairs = paired(all, dataset.name, dataset.metric, at.x);
  at.seeds = pairs.seeds;
  if (pairs.methods.empty() || at.examples < kFewestExamples) {
    const std::string note = fmt::format(
        "On {} nothing can be paired: that takes {} examples and a seed that all its encodings finished.",
        dataset.name, kFewestExamples);
    if (summary.notes.empty() || summary.notes.back() != note)
      summary.notes.push_back(note);  // once for all lengths
    at.seeds.clear();
    return;
  }
  const stats::Rule rule{.higher_better = dataset.higher_better, .margin = summary.options.margin};
  at.learned = is_learned(dataset, at, pairs.methods, rule);
  if (pairs.methods.size() < 2) return;
  add_within_example_widths(pairs, at);
  at.tied = tied_names(pairs.methods, rule);
  const bool has_reference = std::any_of(pairs.methods.begin(), pairs.methods.end(),
                                         [&](const stats::Method& m) { return m.name == summary.reference; });
  if (has_reference)
    at.comparisons = stats::compare_with(summary.reference, in_family(pairs.methods, summary), rule);
}

}  // namespace

Paired paired(const Gathered& all, const std::string& dataset, const std::string& metric, double x) {
  std::vector<std::string> sound;
  for (const std::string& encoding : all.encodings) {
    const auto has = [&](bool diverged) {
      return std::any_of(all.runs.begin(), all.runs.end(), [&](const Run& r) {
        return r.dataset == dataset && r.encoding == encoding && r.diverged == diverged;
      });
    };
    if (has(false) && !has(true)) sound.push_back(encoding);
  }
  Paired result;
  for (const int64_t seed : all.seeds)
    if (std::all_of(sound.begin(), sound.end(),
                    [&](const std::string& e) { return all.find(dataset, e, seed); }))
      result.seeds.push_back(seed);
  if (result.seeds.empty()) return result;
  for (const std::string& encoding : sound) {
    result.methods.push_back({encoding, {}});
    for (const int64_t seed : result.seeds)
      result.methods.back().scores.push_back(*scores_of(*all.find(dataset, encoding, seed), metric, x));
  }
  return result;
}

Dataset summarise_dataset(const Gathered& all, const std::string& name, Summary& summary) {
  Dataset dataset;
  dataset.name = name;
  const Run* model = first_finished(all, name);
  for (const std::string& encoding : all.encodings)
    dataset.everywhere =
        dataset.everywhere && std::any_of(all.runs.begin(), all.runs.end(), [&](const Run& r) {
          return r.dataset == name && r.encoding == encoding;
        });
  if (!model) return dataset;  // every run diverged: the notes say so
  const Metric& metric = primary_metric(*model);
  dataset.family = model->family;
  dataset.metric = metric.name;
  dataset.higher_better = metric.higher_better;
  dataset.chance = model->chance;
  dataset.true_chance = model->true_chance;
  for (const auto& [x, examples] : model->scores.at(metric.name)) {
    AtLength at;
    at.x = x;
    at.examples = int64_t(examples.size());
    if (const auto found = model->best_constant.find(x); found != model->best_constant.end())
      at.best_constant = found->second;
    for (const std::string& encoding : all.encodings)
      at.cells.push_back(make_cell(all, dataset, at, encoding));
    compare_at(all, dataset, at, summary);
    dataset.lengths.push_back(std::move(at));
  }
  return dataset;
}

}  // namespace darope::report
