#include "report/results.h"

#include <fmt/format.h>

namespace darope::report {
namespace {

using nlohmann::ordered_json;

constexpr int kResultsSchema = 2;

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
                    {"free_running", maybe(cell.free_running)},
                    {"n_free", maybe(cell.n_free)},
                    {"exact_match", nullptr}};
  if (cell.exact_match)
    json["exact_match"] = {{"share", cell.exact_match->share},
                           {"wilson", to_json(cell.exact_match->wilson)},
                           {"wald", to_json(cell.exact_match->wald)}};
  return json;
}

ordered_json to_json(const Dataset& dataset, double margin) {
  const stats::Rule rule{.higher_better = dataset.higher_better, .margin = margin};
  ordered_json lengths = ordered_json::array();
  for (const AtLength& at : dataset.lengths) {
    ordered_json cells = ordered_json::array();
    for (const Cell& cell : at.cells) cells.push_back(to_json(cell));
    lengths.push_back({{"x", at.x},
                       {"examples", at.examples},
                       {"best_constant", maybe(at.best_constant)},
                       {"learned", dataset.higher_better ? ordered_json(at.learned) : ordered_json(nullptr)},
                       {"seeds", at.seeds},
                       {"loftus_masson", maybe(at.loftus_masson)},
                       {"cells", cells},
                       {"comparisons", to_json(at.comparisons, rule)},
                       {"tied", at.tied}});
  }
  return {{"name", dataset.name},
          {"family", dataset.family},
          {"metric", dataset.metric},
          {"higher_better", dataset.higher_better},
          {"everywhere", dataset.everywhere},
          {"chance", maybe(dataset.chance)},
          {"true_chance", maybe(dataset.true_chance)},
          {"lengths", lengths}};
}

ordered_json to_json(const Overall& o, double margin) {
  const stats::Rule rule{.higher_better = o.higher_better, .margin = margin};
  return {{"metric", o.metric},
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
  std::string text =
      "dataset,family,x,metric,encoding,finished_seeds,diverged_seeds,mean,pooled,seed_sd,cousineau_morey,"
      "loftus_masson,normalised,"
      "normalised_true,exact_match,exact_match_low,exact_match_high,free_running,n_free,learned,against_"
      "reference\r\n";
  for (const Dataset& d : summary.datasets)
    for (const AtLength& at : d.lengths)
      for (const Cell& c : at.cells) {
        const auto& exact = c.exact_match;
        text += fmt::format("{},{},{:g},{},{},{},{},{},{},{},{},{},{},{},", quoted(d.name), quoted(d.family),
                            at.x, d.metric, quoted(c.encoding), c.seeds.size(), c.diverged.size(),
                            number(c.mean), number(c.pooled), number(c.seed_sd), number(c.cousineau_morey),
                            number(at.loftus_masson), number(c.normalised), number(c.normalised_true));
        text += exact ? fmt::format("{:.10g},{:.10g},{:.10g},", exact->share, exact->wilson.low,
                                    exact->wilson.high)
                      : ",,,";
        text += fmt::format("{},{},{},{}\r\n", number(c.free_running), number(c.n_free),
                            !d.higher_better ? ""
                            : at.learned     ? "yes"
                                             : "no",
                            outcome_of(at, c.encoding));
      }
  return text;
}

}  // namespace darope::report
