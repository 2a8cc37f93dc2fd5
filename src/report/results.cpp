#include "report/results.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "report/power.h"
#include "report/words.h"
#include "stats/power.h"

namespace darope::report {
namespace {

using nlohmann::ordered_json;

constexpr int kResultsSchema = 4;

ordered_json maybe(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json to_json(const stats::Interval& interval) { return {interval.low, interval.high}; }

const char* name_of(stats::Need::By by) {
  using By = stats::Need::By;
  switch (by) {
    case By::nothing:
      return "nothing";
    case By::seeds:
      return "seeds";
    case By::unknown_with_one_seed:
      return "unknown with one seed";
    case By::out_of_reach:
      return "out of reach";
  }
  return "";
}

ordered_json to_json(const stats::PairVerdict& pair, const stats::Judged& judged, double margin) {
  const stats::Need need = stats::need(pair, judged.encodings.size(), margin);
  ordered_json json{
      {"first", judged.encodings[pair.first]},
      {"second", judged.encodings[pair.second]},
      {"verdict", pair.seeds > 0 ? ordered_json(stats::name_of(pair.verdict)) : ordered_json(nullptr)},
      {"about", pair.about_encodings() ? "encodings" : "models"},
      {"seeds", pair.seeds},
      {"difference", pair.difference},
      {"interval", to_json(pair.interval)},
      {"standard_error", pair.standard_error},
      {"run_part", pair.runs},
      {"example_part", pair.examples},
      {"df", pair.df},
      {"critical", pair.critical},
      {"detectable", stats::detectable(pair)},
      {"decided_by", name_of(need.by)}};
  if (need.by == stats::Need::By::seeds) json["decided_by_seeds"] = need.seeds;
  return json;
}

ordered_json to_json(const stats::Judged& judged, double margin) {
  ordered_json list = ordered_json::array();
  for (const stats::PairVerdict& pair : judged.pairs) list.push_back(to_json(pair, judged, margin));
  return list;
}

ordered_json tied_names(const stats::Judged& judged) {
  ordered_json groups = ordered_json::array();
  for (const std::vector<size_t>& group : judged.tied_groups()) {
    groups.emplace_back(ordered_json::array());
    for (const size_t e : group) groups.back().push_back(judged.encodings[e]);
  }
  return groups;
}

ordered_json to_json(const stats::PaperTest& c) {
  return {{"first", c.first},
          {"second", c.second},
          {"difference", c.test.mean},
          {"interval", to_json(c.interval)},
          {"t", c.test.t},
          {"df", c.test.df},
          {"p", c.test.p},
          {"ln_p", c.test.ln_p},
          {"holm_ln_p", c.holm_ln_p},
          {"effect_size", c.effect},
          {"by_seed", c.by_seed}};
}

ordered_json to_json(const Standing& standing) {
  return {{"encoding", standing.encoding},
          {"mean", standing.mean},
          {"half_width", standing.half_width},
          {"runs", standing.runs}};
}

ordered_json to_json(const Split& split) {
  return {{"encoding", split.encoding},       {"ahead", split.ahead},
          {"low", split.modes.low},           {"high", split.modes.high},
          {"low_mean", split.modes.low_mean}, {"high_mean", split.modes.high_mean}};
}

template <class Item>
ordered_json list_of(const std::vector<Item>& items) {
  ordered_json list = ordered_json::array();
  for (const Item& item : items) list.push_back(to_json(item));
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
                    {"half_width", maybe(cell.half_width)},
                    {"cousineau_morey", maybe(cell.cousineau_morey)},
                    {"normalised", maybe(cell.normalised)},
                    {"normalised_true", maybe(cell.normalised_true)},
                    {"wilson", nullptr},
                    {"wald", nullptr}};
  if (cell.best_weights) json["best_weights"] = *cell.best_weights;
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

ordered_json to_json(const Dataset& dataset) {
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
         {"clusters", at.clusters},
         {"loftus_masson", maybe(at.loftus_masson)},
         {"cells", to_json(at.cells)},
         {"pairs", at.judged ? to_json(*at.judged, dataset.margin) : ordered_json::array()},
         {"tied", at.judged ? tied_names(*at.judged) : ordered_json::array()},
         {"apart", at.judged ? ordered_json(at.judged->apart) : ordered_json::array()},
         {"standings", list_of(at.standings)},
         {"two_groups", list_of(at.splits)},
         {"paper_test", list_of(at.paper)}});
  return {{"name", dataset.name},
          {"family", dataset.family},
          {"metric", dataset.metric.name},
          {"axis", dataset.metric.axis.name},
          {"higher_better", dataset.metric.higher_better},
          {"margin", dataset.margin},
          {"settling", dataset.settling ? darope::to_json(*dataset.settling) : ordered_json(nullptr)},
          {"everywhere", dataset.everywhere()},
          {"chance", maybe(dataset.metric.chance)},
          {"true_chance", maybe(dataset.metric.true_chance)},
          {"metrics", darope::to_json(metrics)},
          {"lengths", lengths},
          {"beside", beside}};
}

ordered_json without_each(const stats::SuiteVerdict& suite) {
  ordered_json list = ordered_json::array();
  for (size_t t = 0; t < suite.without.size(); ++t) {
    ordered_json pairs = ordered_json::array();
    for (const stats::PairVerdict& pair : suite.without[t].pairs)
      pairs.push_back({{"first", suite.these_tasks.encodings[pair.first]},
                       {"second", suite.these_tasks.encodings[pair.second]},
                       {"verdict", stats::name_of(pair.verdict)}});
    list.push_back({{"dataset", suite.tasks[t]}, {"pairs", pairs}});
  }
  return list;
}

ordered_json to_json(const Overall& o) {
  ordered_json json{{"metric", o.metric.name},
                    {"axis", o.metric.axis.name},
                    {"x", o.x},
                    {"margin", o.margin},
                    {"datasets", o.datasets},
                    {"not_learned", o.not_learned},
                    {"diverged", o.diverged},
                    {"leader", o.suite ? ordered_json(o.leader()) : ordered_json(nullptr)},
                    {"standings", list_of(o.standings)}};
  if (!o.suite) return json;
  json["pairs"] = to_json(o.suite->these_tasks, o.margin);
  for (size_t p = 0; p < o.suite->these_tasks.pairs.size(); ++p) {
    const stats::PairVerdict& pair = o.suite->these_tasks.pairs[p];
    json["pairs"][p]["hangs_on"] = o.suite->hangs_on(pair.first, pair.second);
  }
  json["tied"] = tied_names(o.suite->these_tasks);
  json["apart"] = o.suite->these_tasks.apart;
  json["tasks_like_these"] =
      o.suite->tasks_like_these ? to_json(*o.suite->tasks_like_these, o.margin) : ordered_json::array();
  json["without"] = without_each(*o.suite);
  return json;
}

ordered_json to_json(const Aggregate& aggregate) {
  ordered_json rows = ordered_json::array();
  for (const Aggregate::Row& row : aggregate.rows)
    rows.push_back({{"encoding", row.encoding},
                    {"normalised", maybe(row.normalised)},
                    {"seed_sd", maybe(row.normalised_sd)},
                    {"normalised_true", maybe(row.normalised_true)},
                    {"seed_sd_true", maybe(row.normalised_true_sd)}});
  return {{"x", aggregate.x},
          {"over", aggregate.over},
          {"datasets", aggregate.datasets},
          {"rows", rows},
          {"best_constant", maybe(aggregate.constant)},
          {"best_constant_true", maybe(aggregate.constant_true)}};
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
  ordered_json json{{"encoding", cost.encoding},
                    {"parameters", cost.parameters},
                    {"seconds", cost.seconds},
                    {"tokens_per_second", cost.tokens_per_second},
                    {"peak_memory_bytes", cost.peak_memory_bytes}};
  if (!cost.weights_of.empty()) json["weights_of"] = cost.weights_of;
  return json;
}

ordered_json to_json(const Power& power) {
  ordered_json takes = ordered_json::array();
  for (const Power::For& each : power.differences) {
    takes.push_back({{"difference", each.difference}, {"decided_by", name_of(each.need.by)}});
    if (each.need.by == stats::Need::By::seeds) {
      takes.back()["seeds"] = each.need.seeds;
      takes.back()["seconds"] = each.seconds;
    }
  }
  return {{"dataset", power.of.empty() ? ordered_json(nullptr) : ordered_json(power.of)},
          {"metric", power.metric.name},
          {"x", power.x},
          {"margin", power.margin},
          {"seeds", power.seeds},
          {"could_see", {power.least_seen, power.most_seen}},
          {"takes", takes}};
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

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.10g}", *value) : ""; }

std::string verdict_against(const std::string& reference, const AtLength& at, const std::string& encoding) {
  const auto pair = at.pair(encoding, reference);
  return pair && pair->seeds > 0 ? std::string(stats::name_of(pair->verdict)) : "";
}

// Of any metric, then what only the compared one has.
constexpr const char* kColumns =
    "dataset,family,metric,axis,x,encoding,finished_seeds,diverged_seeds,mean,low,high,pooled,seed_sd,"
    "normalised,normalised_true,cousineau_morey,loftus_masson,learned,against_reference,unigram,bigram\r\n";

// What counting gets on a metric, where it says so.
std::optional<double> baseline(const Metric& metric, const std::string& name, double x) {
  const auto places = metric.baselines.find(name);
  if (places == metric.baselines.end() || !places->second.contains(x)) return std::nullopt;
  return places->second.at(x);
}

std::string csv_row(const Dataset& d, const Metric& metric, double x, const Cell& c) {
  const auto end = [&](double stats::Interval::* side) {
    if (c.proportion) return number(c.proportion->wilson.*side);
    const double half = side == &stats::Interval::low ? -1 : 1;
    return c.half_width ? number(*c.mean + half * *c.half_width) : "";
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_cell(d.name), csv_cell(d.family),
                     csv_cell(metric.name), csv_cell(metric.axis.name), x, csv_cell(c.encoding),
                     c.seeds.size(), c.diverged.size(), number(c.mean), end(&stats::Interval::low),
                     end(&stats::Interval::high), number(c.pooled), number(c.seed_sd), number(c.normalised),
                     number(c.normalised_true));
}

}  // namespace

ordered_json results_json(const Summary& s, const Gathered& all) {
  const auto list = [](const auto& items, const auto& each) {
    ordered_json array = ordered_json::array();
    for (const auto& item : items) array.push_back(each(item));
    return array;
  };
  return {{"schema", kResultsSchema},
          {"reference", s.reference},
          {"confidence", 0.95},
          {"paper_test_over", s.options.paper_family ? "paper" : "all"},
          {"encodings", s.encodings},
          {"seeds", s.seeds},
          {"lengths", s.lengths},
          {"variants", list(s.variants, [](const Variants& v) { return to_json(v); })},
          {"overall", list(s.overall, [](const Overall& o) { return to_json(o); })},
          {"rankings", list(s.rankings, [&](const Ranking& r) { return to_json(r, s.encodings); })},
          {"aggregates", list(s.aggregates, [](const Aggregate& a) { return to_json(a); })},
          {"datasets", list(s.datasets, [](const Dataset& d) { return to_json(d); })},
          {"evaluations", s.evaluations
                              ? list(s.evaluations->datasets, [](const Dataset& d) { return to_json(d); })
                              : ordered_json::array()},
          {"recall_gaps", list(s.gaps, [](const Gap& g) { return to_json(g); })},
          {"power", list(powers(all, s), [](const Power& p) { return to_json(p); })},
          {"costs", list(s.costs, [](const Cost& c) { return to_json(c); })},
          {"runs", list(all.runs, [](const Run& r) { return to_json(r); })},
          {"notes", s.notes},
          {"cautions", cautions(s)},
          {"rule", rule_in_words(s)}};
}

std::string results_csv(const Summary& summary) {
  std::string text = kColumns;
  for (const Dataset* d : summary.all_datasets()) {
    for (const AtLength& at : d->lengths)
      for (const Cell& c : at.cells)
        text += fmt::format("{},{},{},{},{},{},{}\r\n", csv_row(*d, d->metric, at.x, c),
                            number(c.cousineau_morey), number(at.loftus_masson),
                            !d->metric.higher_better ? ""
                            : at.learned             ? "yes"
                                                     : "no",
                            verdict_against(summary.reference, at, c.encoding),
                            number(baseline(d->metric, "unigram", at.x)),
                            number(baseline(d->metric, "bigram", at.x)));
    for (const Beside& beside : d->beside)
      for (const Beside::Place& place : beside.places)
        for (const Cell& c : place.cells) text += csv_row(*d, beside.metric, place.x, c) + ",,,,,,\r\n";
  }
  return text;
}

}  // namespace darope::report
