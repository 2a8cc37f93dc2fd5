#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "report/judging.h"
#include "report/settling.h"
#include "stats/within.h"

namespace darope::report {
namespace {

constexpr int64_t kFewestExamples = 3;  // what a paired test needs

const Run* first_finished(const Gathered& all, const std::string& dataset) {
  for (const Run* run : all.runs_of(dataset))
    if (!run->diverged) return run;
  return nullptr;
}

const Scores* scores_of(const Run& run, const Metric& metric, double x) {
  const auto found = run.scores.find(key_of(metric));
  if (found == run.scores.end()) return nullptr;
  const auto at = found->second.find(x);
  return at == found->second.end() ? nullptr : &at->second;
}

std::optional<double> best_mean(const Run& run, const Metric& metric, double x) {
  const auto found = run.best_scores.find(key_of(metric));
  if (found == run.best_scores.end() || !found->second.contains(x)) return std::nullopt;
  return stats::mean(found->second.at(x).values);
}

// The mean over tokens instead of examples.
std::optional<double> pooled_over_tokens(const Scores& scores) {
  const stats::Values& tokens = scores.tokens;
  if (tokens.empty()) return std::nullopt;
  const double all = std::accumulate(tokens.begin(), tokens.end(), 0.0);
  return std::inner_product(scores.values.begin(), scores.values.end(), tokens.begin(), 0.0) / all;
}

Proportion proportion_of(double share, int64_t examples) {
  const int64_t hits = std::lround(share * double(examples));
  return {share, stats::wilson(hits, examples), stats::wald(hits, examples)};
}

Cell make_cell(const Gathered& all, const std::string& dataset, const Metric& metric, double x,
               const std::string& encoding) {
  Cell cell;
  cell.encoding = encoding;
  stats::Values pooled, best;
  int64_t examples = 0;
  for (const int64_t seed : all.seeds) {
    const Run* run = all.find(dataset, encoding, seed);
    if (run && run->diverged) cell.diverged.push_back(seed);
    const Scores* scores = run ? scores_of(*run, metric, x) : nullptr;
    if (!scores) continue;
    cell.seeds.push_back(seed);
    cell.by_seed.push_back(stats::mean(scores->values));
    examples = int64_t(scores->values.size());
    if (const auto value = pooled_over_tokens(*scores)) pooled.push_back(*value);
    if (const auto value = best_mean(*run, metric, x)) best.push_back(*value);
  }
  if (cell.by_seed.empty()) return cell;
  if (best.size() == cell.by_seed.size()) cell.best_weights = stats::mean(best);
  if (pooled.size() == cell.by_seed.size()) cell.pooled = stats::mean(pooled);
  cell.mean = stats::mean(cell.by_seed);
  if (cell.by_seed.size() > 1) cell.seed_sd = stats::sd(cell.by_seed);
  if (metric.chance) cell.normalised = stats::chance_normalised(*cell.mean, *metric.chance);
  if (metric.true_chance) cell.normalised_true = stats::chance_normalised(*cell.mean, *metric.true_chance);
  if (metric.unit == kYesOrNo) cell.proportion = proportion_of(*cell.mean, examples);
  return cell;
}

std::vector<Cell> make_cells(const Gathered& all, const std::string& dataset, const Metric& metric,
                             double x) {
  std::vector<Cell> cells;
  for (const std::string& encoding : all.encodings)
    cells.push_back(make_cell(all, dataset, metric, x, encoding));
  return cells;
}

// What any run was scored by beside the metric that is compared on, wherever one of them was.
std::vector<Beside> scored_beside(const Gathered& all, const Dataset& dataset) {
  std::vector<Beside> found;
  std::set<ScoreKey> seen{key_of(dataset.metric)};
  for (const Run* run : all.runs_of(dataset.name)) {
    for (const Metric& metric : run->metrics) {
      if (!seen.insert(key_of(metric)).second) continue;
      Beside beside{.metric = metric};
      for (const auto& [x, scores] : run->scores.at(key_of(metric)))
        beside.places.push_back({x, int64_t(scores.values.size()), make_cells(all, dataset.name, metric, x)});
      found.push_back(std::move(beside));
    }
  }
  return found;
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

void judge_at(const Gathered& all, const Dataset& dataset, Summary& summary, stats::Noise& noise,
              AtLength& at) {
  const stats::Judging rule = rule_for(all, dataset.name, dataset.metric, summary.options);
  const std::vector<std::string> sound = sound_encodings(all, dataset.name);
  if (sound.empty()) return;
  const stats::Scores table = score_table(all, dataset.name, dataset.metric, at.x, sound);
  at.clusters = table.clusters();
  if (at.clusters < 2) {
    const std::string note = fmt::format(
        "There is no verdict on {}: its examples are of one source, so nothing tells how examples vary.",
        dataset.name);
    if (summary.notes.empty() || summary.notes.back() != note)
      summary.notes.push_back(note);  // once for all lengths
    return;
  }
  if (dataset.metric.is_share()) at.learned = stats::is_learned(table, 0, rule, noise);
  if (sound.size() < 2) return;
  at.judged = stats::judge(table, rule, noise);
  if (const Settling* settling = settling_of(all, dataset.name); settling && !summary.options.margin)
    let_stand(*settling, at.x, *at.judged);
  at.standings = standings(*at.judged, {&table}, rule.higher_better);
  at.splits = splits(table, *at.judged, dataset.metric, rule);
  const double scale = dataset.metric.is_share() ? 1 - floor_of(dataset.metric, at.x) : 1;
  for (const Standing& standing : at.standings)
    for (Cell& cell : at.cells)
      if (cell.encoding == standing.encoding) cell.half_width = scale * standing.half_width;
}

void test_as_the_paper_does(const Gathered& all, const Dataset& dataset, const Summary& summary,
                            AtLength& at) {
  const Paired pairs = paired(all, dataset.name, dataset.metric, at.x);
  if (pairs.methods.size() < 2 || at.examples < kFewestExamples) return;
  add_within_example_widths(pairs, at);
  const bool has_reference = std::any_of(pairs.methods.begin(), pairs.methods.end(),
                                         [&](const stats::Method& m) { return m.name == summary.reference; });
  if (has_reference)
    at.paper =
        stats::paper_test(summary.reference, in_family(pairs.methods, summary), dataset.metric.higher_better);
}

}  // namespace

Dataset summarise_dataset(const Gathered& all, const std::string& name, Summary& summary,
                          stats::Noise& noise) {
  Dataset dataset;
  dataset.name = name;
  const Run* model = first_finished(all, name);
  for (const std::string& encoding : all.encodings)
    if (all.runs_of(name, encoding).empty()) dataset.missing.push_back(encoding);
  if (!model) return dataset;  // every run diverged: the notes say so
  dataset.family = model->family;
  dataset.metric = model->metrics.front();
  dataset.margin = margin_of(all, name, dataset.metric, summary.options);
  if (const Settling* settling = settling_of(all, name)) dataset.settling = *settling;
  for (const auto& [x, scores] : model->scores.at(key_of(dataset.metric))) {
    AtLength at;
    at.x = x;
    at.examples = int64_t(scores.values.size());
    if (const auto found = dataset.metric.floor.find(x); found != dataset.metric.floor.end())
      at.best_constant = found->second;
    at.cells = make_cells(all, name, dataset.metric, x);
    judge_at(all, dataset, summary, noise, at);
    test_as_the_paper_does(all, dataset, summary, at);
    dataset.lengths.push_back(std::move(at));
  }
  dataset.beside = scored_beside(all, dataset);
  return dataset;
}

}  // namespace darope::report
