#include "report/results.h"

#include <fmt/format.h>

namespace darope::report {
namespace {

using nlohmann::ordered_json;

constexpr int kResultsSchema = 3;

ordered_json maybe(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const stats::Interval& interval) { return {interval.low, interval.high}; }

const char* name_of(stats::Settling::By by) {
  using By = stats::Settling::By;
  switch (by) {
    case By::not_needed:
      return "not needed";
    case By::seeds:
      return "seeds";
    case By::unknown_with_one_seed:
      return "unknown with one seed";
    case By::more_seeds_than_sensible:
      return "more seeds than sensible";
    case By::examples:
      return "examples";
    case By::nothing:
      return "nothing";
  }
  return "";
}

ordered_json to_json(const stats::Comparison& c, const stats::Rule& rule) {
  ordered_json json{{"first", c.first},
                    {"second", c.second},
                    {"outcome", stats::name_of(c.outcome)},
                    {"difference", c.test.mean},
                    {"interval", to_json(c.interval)},
                    {"t", c.test.t},
                    {"df", c.test.df},
                    {"p", c.test.p},
                    {"ln_p", c.test.ln_p},
                    {"holm_ln_p", c.holm_ln_p},
                    {"effect_size", c.effect},
                    {"by_seed", c.by_seed},
                    {"settled_by", name_of(c.settling.by)}};
  if (c.settling.by == stats::Settling::By::seeds) json["settled_by_seeds"] = c.settling.seeds;
  json["words"] = stats::in_words(c, rule);
  return json;
}

ordered_json to_json(const std::vector<stats::Comparison>& all, const stats::Rule& rule) {
  ordered_json list = ordered_json::array();
  for (const stats::Comparison& c : all) list.push_back(to_json(c, rule));
  return list;
}

ordered_json to_json(const Cell& cell) {
  ordered_json json{{"encoding", cell.encoding},
                    {"seeds", cell.seeds},
                    {"diverged", cell.diverged},
                    {"by_seed", cell.by_seed},
                    {"mean", maybe(cell.mean)},
                    {"pooled", maybe(cell.pooled)},
                    {"seed_sd", maybe(cell.seed_sd)},
                    {"cousineau_morey", maybe(cell.cousineau_morey)},
                    {"normalised", maybe(cell.normalised)},
                    {"normalised_true", maybe(cell.normalised_true)},
                    {"wilson", nullptr},
                    {"wald", nullptr}};
  if (!cell.proportion) return json;
  json["wilson"] = to_json(cell.proportion->wilson);
  json["wald"] = to_json(cell.proportion->wald);
  return json;
}

ordered_json to_json(const std::vector<Cell>& cells) {
  ordered_json list = ordered_json::array();
  for (const Cell& cell : cells) list.push_back(to_json(cell));
  return list;
}

ordered_json to_json(const Beside& beside) {
  ordered_json places = ordered_json::array();
  for (const Beside::Place& place : beside.places)
    places.push_back({{"x", place.x}, {"examples", place.examples}, {"cells", to_json(place.cells)}});
  return {{"metric", beside.metric.name}, {"axis", beside.metric.axis.name}, {"places", places}};
}

ordered_json to_json(const Dataset& dataset, double margin) {
  const stats::Rule rule{.higher_better = dataset.metric.higher_better, .margin = margin};
  ordered_json lengths = ordered_json::array(), beside = ordered_json::array();
  std::vector<Metric> metrics{dataset.metric};
  for (const Beside& each : dataset.beside) {
    metrics.push_back(each.metric);
    beside.push_back(to_json(each));
  }
  for (const AtLength& at : dataset.lengths)
    lengths.push_back(
        {{"x", at.x},
         {"examples", at.examples},
         {"best_constant", maybe(at.best_constant)},
         {"learned", dataset.metric.higher_better ? ordered_json(at.learned) : ordered_json(nullptr)},
         {"seeds", at.seeds},
         {"loftus_masson", maybe(at.loftus_masson)},
         {"cells", to_json(at.cells)},
         {"comparisons", to_json(at.comparisons, rule)},
         {"tied", at.tied}});
  return {{"name", dataset.name},
          {"family", dataset.family},
          {"metric", dataset.metric.name},
          {"axis", dataset.metric.axis.name},
          {"higher_better", dataset.metric.higher_better},
          {"everywhere", dataset.everywhere},
          {"chance", maybe(dataset.metric.chance)},
          {"true_chance", maybe(dataset.metric.true_chance)},
          {"metrics", darope::to_json(metrics)},
          {"lengths", lengths},
          {"beside", beside}};
}

ordered_json to_json(const Overall& o, double margin) {
  const stats::Rule rule{.higher_better = o.metric.higher_better, .margin = margin};
  return {{"metric", o.metric.name},
          {"axis", o.metric.axis.name},
          {"x", o.x},
          {"datasets", o.datasets},
          {"not_learned", o.not_learned},
          {"diverged", o.diverged},
          {"seeds", o.seeds},
          {"leader", o.leader.empty() ? ordered_json(nullptr) : ordered_json(o.leader)},
          {"leads", to_json(o.leads, rule)},
          {"comparisons", to_json(o.comparisons, rule)},
          {"tied", o.tied}};
}

ordered_json to_json(const Aggregate& aggregate) {
  ordered_json rows = ordered_json::array();
  for (const Aggregate::Row& row : aggregate.rows)
    rows.push_back({{"encoding", row.encoding},
                    {"normalised", maybe(row.normalised)},
                    {"seed_sd", maybe(row.normalised_sd)},
                    {"normalised_true", maybe(row.normalised_true)},
                    {"seed_sd_true", maybe(row.normalised_true_sd)}});
  return {{"x", aggregate.x}, {"over", aggregate.over}, {"datasets", aggregate.datasets}, {"rows", rows}};
}

ordered_json to_json(const Ranking& ranking, const std::vector<std::string>& encodings) {
  ordered_json rows = ordered_json::array();
  for (size_t e = 0; e < encodings.size(); ++e)
    rows.push_back({{"encoding", encodings[e]},
                    {"mean", ranking.ranks[e].mean},
                    {"standard_error", maybe(ranking.ranks[e].standard_error)}});
  return {{"x", ranking.x}, {"datasets", ranking.datasets}, {"rows", rows}};
}

ordered_json to_json(const Gap& gap) {
  return {{"x", gap.x}, {"encoding", gap.encoding}, {"gap", gap.gap}, {"seed_sd", maybe(gap.seed_sd)}};
}

ordered_json to_json(const Cost& cost) {
  return {{"encoding", cost.encoding},
          {"parameters", cost.parameters},
          {"seconds", cost.seconds},
          {"tokens_per_second", cost.tokens_per_second},
          {"peak_memory_bytes", cost.peak_memory_bytes}};
}

ordered_json to_json(const Variants& variants) {
  return {{"encoding", variants.encoding}, {"by_dataset", variants.by_dataset}};
}

ordered_json to_json(const Run& run) {
  return {{"folder", run.folder.string()},
          {"dataset", run.dataset},
          {"encoding", run.encoding},
          {"typed", run.typed},
          {"seed", run.seed},
          {"status", run.diverged ? "diverged" : "finished"},
          {"steps", run.steps},
          {"tokens", run.tokens},
          {"parameters", run.parameters},
          {"seconds", run.seconds},
          {"tokens_per_second", run.tokens_per_second},
          {"peak_memory_bytes", run.peak_memory_bytes},
          {"shared_init", run.shared_init},
          {"data_order", run.data_order},
          {"config_without_encoding", run.config_without_encoding},
          {"commit", run.commit},
          {"machine", run.machine},
          {"torch", run.torch}};
}

// As RFC 4180 has it.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string safe = "\"";
  for (const char c : text) safe += c == '"' ? "\"\"" : std::string(1, c);
  return safe + '"';
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.10g}", *value) : ""; }

std::string outcome_of(const AtLength& at, const std::string& encoding) {
  for (const stats::Comparison& c : at.comparisons)
    if (c.second == encoding) return std::string(stats::name_of(stats::turned(c).outcome));
  return "";
}

// Of any metric, then what only the compared one has.
constexpr const char* kColumns =
    "dataset,family,metric,axis,x,encoding,finished_seeds,diverged_seeds,mean,low,high,pooled,seed_sd,"
    "normalised,normalised_true,cousineau_morey,loftus_masson,learned,against_reference\r\n";

std::string csv_row(const Dataset& d, const Metric& metric, double x, const Cell& c) {
  const auto end = [&](double stats::Interval::* side) {
    return c.proportion ? number(c.proportion->wilson.*side) : "";
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", quoted(d.name), quoted(d.family),
                     quoted(metric.name), quoted(metric.axis.name), x, quoted(c.encoding), c.seeds.size(),
                     c.diverged.size(), number(c.mean), end(&stats::Interval::low),
                     end(&stats::Interval::high), number(c.pooled), number(c.seed_sd), number(c.normalised),
                     number(c.normalised_true));
}

}  // namespace

ordered_json results_json(const Summary& s, const Gathered& all) {
  const double margin = s.options.margin;
  const auto list = [](const auto& items, const auto& each) {
    ordered_json array = ordered_json::array();
    for (const auto& item : items) array.push_back(each(item));
    return array;
  };
  return {{"schema", kResultsSchema},
          {"reference", s.reference},
          {"margin", margin},
          {"alpha", stats::kAlpha},
          {"holm_over", s.options.paper_family ? "paper" : "all"},
          {"encodings", s.encodings},
          {"seeds", s.seeds},
          {"lengths", s.lengths},
          {"variants", list(s.variants, [](const Variants& v) { return to_json(v); })},
          {"overall", list(s.overall, [&](const Overall& o) { return to_json(o, margin); })},
          {"rankings", list(s.rankings, [&](const Ranking& r) { return to_json(r, s.encodings); })},
          {"aggregates", list(s.aggregates, [](const Aggregate& a) { return to_json(a); })},
          {"datasets", list(s.datasets, [&](const Dataset& d) { return to_json(d, margin); })},
          {"recall_gaps", list(s.gaps, [](const Gap& g) { return to_json(g); })},
          {"costs", list(s.costs, [](const Cost& c) { return to_json(c); })},
          {"runs", list(all.runs, [](const Run& r) { return to_json(r); })},
          {"notes", s.notes},
          {"caveat", stats::kCaveat}};
}

std::string results_csv(const Summary& summary) {
  std::string text = kColumns;
  for (const Dataset& d : summary.datasets) {
    for (const AtLength& at : d.lengths)
      for (const Cell& c : at.cells)
        text += fmt::format("{},{},{},{},{}\r\n", csv_row(d, d.metric, at.x, c), number(c.cousineau_morey),
                            number(at.loftus_masson),
                            !d.metric.higher_better ? ""
                            : at.learned            ? "yes"
                                                    : "no",
                            outcome_of(at, c.encoding));
    for (const Beside& beside : d.beside)
      for (const Beside::Place& place : beside.places)
        for (const Cell& c : place.cells) text += csv_row(d, beside.metric, place.x, c) + ",,,,\r\n";
  }
  return text;
}

}  // namespace darope::report
