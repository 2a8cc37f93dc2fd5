#include "runs/scores.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "runs/lines.h"

namespace darope {
namespace {

using nlohmann::ordered_json;

// Whole places are written without a point.
ordered_json place_json(double at) {
  constexpr double kWhole = 1e15;
  return at == std::floor(at) && std::abs(at) < kWhole ? ordered_json(int64_t(at)) : ordered_json(at);
}

double parse_place(const std::string& text, const std::string& where) {
  double place = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, place);
  if (error != std::errc() || last != end)
    throw Error(fmt::format("{}: '{}' is no place on an axis", where, text.substr(0, 40)));
  return place;
}

ordered_json axis_json(const Axis& axis) {
  ordered_json json{{"name", axis.name}, {"unit", axis.unit}, {"meaning", axis.meaning}};
  if (axis.by_factors) json["by_factors"] = true;
  if (axis.mark) json["mark"] = *axis.mark;
  if (axis.mark) json["mark_meaning"] = axis.mark_meaning;
  return json;
}

std::string text_or(const Json& json, const char* key, const std::string& fallback,
                    const std::string& where) {
  return no_longer(get_or<std::string>(json, key, fallback, where), kLongestText, key, where);
}

Axis read_axis(const Json& json, const std::string& where) {
  return {.name = need_name(json, "name", where),
          .unit = name_or_none(json, "unit", where),
          .meaning = text_or(json, "meaning", "", where),
          .by_factors = get_or<bool>(json, "by_factors", false, where),
          .mark = optional_number(json, "mark", where),
          .mark_meaning = text_or(json, "mark_meaning", "", where)};
}

// More than any evaluation has; a report judges and draws each.
constexpr size_t kMostPlaces = 1 << 14, kMostMetrics = 256, kMostBaselines = 16;
void check_count(size_t count, size_t most, const std::string& what, const std::string& where) {
  if (count > most) throw Error(fmt::format("{}: more than {} {}", where, most, what));
}

std::map<double, double> read_floor(const Json& object, const char* key, const std::string& where) {
  std::map<double, double> floor;
  for (const auto& [at, value] : get_or<std::map<std::string, double>>(object, key, {}, where))
    floor[parse_place(at, where)] = value;
  check_count(floor.size(), kMostPlaces, "places", where);
  return floor;
}

constexpr double kLargestScore = 1e15;  // sums and squares of such are still numbers

struct Line {
  double value, tokens;                 // tokens: 0 where they are not told
  std::optional<int64_t> cluster = {};  // none in the first version
};
using Lines = std::map<int64_t, Line>;  // by example

Scores collect(const Lines& lines) {
  const auto all = [&](const auto& told) {
    return std::all_of(lines.begin(), lines.end(), [&](const auto& each) { return told(each.second); });
  };
  const bool tokens = all([](const Line& line) { return line.tokens > 0; }),
             clusters = all([](const Line& line) { return line.cluster.has_value(); });
  Scores scores;
  for (const auto& [example, line] : lines) {
    scores.examples.push_back(example);
    scores.values.push_back(line.value);
    if (tokens) scores.tokens.push_back(line.tokens);
    if (clusters) scores.clusters.push_back(*line.cluster);
  }
  return scores;
}

void check_shares(const Metric& metric, const std::map<double, Scores>& places, const std::string& file) {
  for (const auto& [at, scores] : places)
    for (size_t i = 0; i < scores.values.size(); ++i)
      if (scores.values[i] < 0 || scores.values[i] > 1)
        throw Error(fmt::format("{}: {} of example {} is {}, and a share should be from 0 to 1", file,
                                metric.name, scores.examples[i], scores.values[i]));
}

// Examples of the first version count up from 0: a line that is missing leaves a gap.
void check_whole(const ScoreTable& scores, const std::string& file) {
  for (const auto& [key, places] : scores)
    for (const auto& [at, each] : places)
      if (each.examples.front() != 0 || each.examples.back() + 1 != int64_t(each.examples.size()))
        throw Error(fmt::format("{}: {} at {}x has {} examples that do not count up from 0", file, key.metric,
                                at, each.examples.size()));
}

}  // namespace

std::string to_line(const Score& s) {
  return ordered_json{{"metric", s.metric},   {"axis", s.axis},       {"x", place_json(s.at)},
                      {"example", s.example}, {"cluster", s.cluster}, {"value", s.value},
                      {"tokens", s.tokens}}
             .dump() +
         "\n";
}

ScoreTable read_scores(std::string_view text, const std::string& file) {
  std::map<ScoreKey, std::map<double, Lines>> found;
  each_line(text, file, [&](const Json& line, const std::string& where) {
    Line score{need<double>(line, "value", where), get_or<double>(line, "tokens", 0, where)};
    const auto example = need<int64_t>(line, "example", where);
    if (!(std::abs(score.value) <= kLargestScore))
      throw Error(
          fmt::format("{}: 'value' is {}, and no score is beyond {}", where, score.value, kLargestScore));
    if (score.tokens < 0)
      throw Error(fmt::format("{}: 'tokens' is {}, and should be at least 1", where, score.tokens));
    if (line.contains("cluster")) score.cluster = need<int64_t>(line, "cluster", where);
    const ScoreKey key{need<std::string>(line, "metric", where),
                       get_or<std::string>(line, "axis", kLength.name, where)};
    auto& places = found[key];
    if (!places[need<double>(line, "x", where)].emplace(example, score).second)
      throw Error(fmt::format("{}: example {} is scored twice", where, example));
    check_count(places.size(), kMostPlaces, "places of one metric", where);
    check_count(found.size(), kMostMetrics, "metrics", where);
  });
  ScoreTable table;
  for (const auto& [key, places] : found)
    for (const auto& [at, lines] : places) table[key][at] = collect(lines);
  return table;
}

ordered_json to_json(const std::vector<Metric>& metrics) {
  ordered_json list = ordered_json::array();
  for (const Metric& m : metrics) {
    ordered_json json{{"name", m.name}, {"axis", axis_json(m.axis)}, {"title", m.title},
                      {"unit", m.unit}, {"meaning", m.meaning},      {"higher_better", m.higher_better}};
    if (m.by_example) json["by_example"] = true;
    if (m.chance) json["chance"] = *m.chance;
    if (m.true_chance) json["true_chance"] = *m.true_chance;
    for (const auto& [at, value] : m.floor) json["floor"][fmt::format("{}", at)] = value;
    for (const auto& [name, places] : m.baselines)
      for (const auto& [at, value] : places) json["baselines"][name][fmt::format("{}", at)] = value;
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<Metric> read_metrics(const Json& list, const std::string& where) {
  if (!list.is_array()) throw Error(fmt::format("{}: 'metrics' is no list", where));
  check_count(list.size(), kMostMetrics, "metrics", where);
  std::vector<Metric> metrics;
  for (const Json& json : list) {
    const std::string name = need_name(json, "name", where), place = where + ": " + name.substr(0, 80);
    metrics.push_back({.name = name,
                       .axis = read_axis(need<Json>(json, "axis", place), place),
                       .title = text_or(json, "title", name, place),
                       .unit = name_or_none(json, "unit", place),
                       .meaning = text_or(json, "meaning", "", place),
                       .higher_better = need<bool>(json, "higher_better", place),
                       .by_example = get_or<bool>(json, "by_example", false, place),
                       .chance = optional_number(json, "chance", place),
                       .true_chance = optional_number(json, "true_chance", place),
                       .floor = read_floor(json, "floor", place)});
    const auto baselines = get_or<Json>(json, "baselines", Json::object(), place);
    check_count(baselines.size(), kMostBaselines, "baselines", place);
    for (const auto& [each, places] : baselines.items())
      metrics.back().baselines[no_longer(each, kLongestName, "baselines", place)] =
          read_floor(Json{{each, places}}, each.c_str(), place);
  }
  return metrics;
}

std::vector<Metric> metrics_of_first_version(const ScoreTable& scores, const Json& facts,
                                             const std::string& file) {
  check_whole(scores, file);
  const std::string share(kShare), yes_or_no(kYesOrNo), nats(kNats);
  std::vector<Metric> known{
      {.name = "token_accuracy",
       .title = "token accuracy",
       .unit = share,
       .meaning = "share of an answer's tokens that are right, reading the right ones before each"},
      {.name = "exact_match",
       .title = "exact match",
       .unit = yes_or_no,
       .meaning = "whether the whole answer is right"},
      {.name = "nll",
       .title = "loss",
       .unit = nats,
       .meaning = "mean negative log-likelihood of a token",
       .higher_better = false},
      {.name = "free_running",
       .title = "free running",
       .unit = share,
       .meaning = "share of an answer's tokens that are right, the model reading its own answer"},
      {.name = "nll_n_free",
       .title = "loss without N",
       .unit = nats,
       .meaning = "the loss of windows without unknown bases",
       .higher_better = false}};
  std::erase_if(known, [&](const Metric& metric) { return !scores.contains(key_of(metric)); });
  if (known.empty() && !scores.empty())
    throw Error(fmt::format("{}: its scores are of no metric that the first version had", file));
  if (known.empty()) return known;
  known.front().chance = optional_number(facts, "chance", file);
  known.front().true_chance = optional_number(facts, "true_chance", file);
  known.front().floor = read_floor(facts, "best_constant", file);
  return known;
}

void check_described(const ScoreTable& scores, const std::vector<Metric>& metrics, const std::string& file) {
  std::set<ScoreKey> described;
  for (const Metric& metric : metrics) {
    if (!described.insert(key_of(metric)).second)
      throw Error(fmt::format("{}: {} along {} is described twice", file, metric.name, metric.axis.name));
    if (!scores.contains(key_of(metric)))
      throw Error(fmt::format("{}: there is no score of {} along {}, which the run was scored by", file,
                              metric.name, metric.axis.name));
    if (metric.is_share()) check_shares(metric, scores.at(key_of(metric)), file);
  }
  for (const auto& [key, places] : scores)
    if (!described.contains(key))
      throw Error(fmt::format("{}: scores of {} along {}, which the run does not describe", file, key.metric,
                              key.axis));
}

}  // namespace darope
