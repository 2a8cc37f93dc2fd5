// Judges tables of scores for the Python tests beside it. JSON on standard input: {"tasks": [task, ...],
// "margin": m, "confidence": c}, each task [encodings][seeds] with the scores of its clusters or null.
#include <iostream>
#include <nlohmann/json.hpp>

#include "stats/power.h"
#include "stats/run_variance.h"
#include "stats/suite.h"

namespace darope::stats {
namespace {

using Json = nlohmann::json;

Scores read(const Json& task, size_t place) {
  std::vector<std::string> names;
  size_t clusters = 0;
  for (const Json& encoding : task) {
    names.push_back("e" + std::to_string(names.size()));
    for (const Json& run : encoding) clusters = std::max(clusters, run.size());
  }
  Scores scores("task " + std::to_string(place), names, task.at(0).size(), clusters);
  for (size_t e = 0; e < task.size(); ++e)
    for (size_t s = 0; s < task[e].size(); ++s)
      if (!task[e][s].is_null()) scores.set(e, s, task[e][s].get<Values>());
  return scores;
}

Json parts_of(const Scores& scores) {
  const TaskParts parts = components(scores);
  Json pairs = Json::array();
  Values df, variances;
  for (const PairParts& pair : parts.pairs) {
    pairs.push_back({{"difference", pair.difference},
                     {"runs", pair.runs},
                     {"clusters", pair.clusters},
                     {"residual", pair.residual}});
    df.push_back(pair.seeds > 1 ? double(pair.seeds - 1) : 0);
    variances.push_back(pair.runs);
  }
  const RunVariance::Estimate runs = RunVariance(parts.encodings, df).estimate(variances);
  return {{"pairs", pairs}, {"run_variance", runs.variance}, {"apart", runs.apart}};
}

Json pair_json(const PairVerdict& pair, size_t encodings) {
  return {{"difference", pair.difference},
          {"standard_error", pair.standard_error},
          {"df", pair.df},
          {"critical", pair.critical},
          {"low", pair.interval.low},
          {"high", pair.interval.high},
          {"runs", pair.runs},
          {"examples", pair.examples},
          {"verdict", name_of(pair.verdict)},
          {"detectable", detectable(pair)},
          {"seeds_for_it", seeds_for(std::abs(pair.difference), pair, encodings).seeds}};
}

Json answer(const Json& question) {
  if (question.contains("ranges")) {
    Json result = Json::array();
    for (const size_t numbers : question["ranges"]) result.push_back(normal_range_quantile(0.95, numbers));
    return result;
  }
  if (question.contains("cluster"))
    return by_cluster(question["examples"].get<Values>(), question["cluster"].get<std::vector<int64_t>>());
  std::vector<Scores> tasks;
  std::vector<const Scores*> all;
  Json result{{"tasks", Json::array()}, {"pairs", Json::array()}};
  for (const Json& task : question["tasks"]) tasks.push_back(read(task, tasks.size()));
  for (const Scores& task : tasks) {
    all.push_back(&task);
    result["tasks"].push_back(parts_of(task));
  }
  Noise noise;
  const Judging rule{.higher_better = question.value("higher_better", true),
                     .margin = question["margin"],
                     .confidence = question.value("confidence", 0.95)};
  const SuiteVerdict suite = judge_suite(all, rule, noise);
  for (const PairVerdict& pair : suite.these_tasks.pairs)
    result["pairs"].push_back(pair_json(pair, suite.these_tasks.encodings.size()));
  return result;
}

}  // namespace
}  // namespace darope::stats

int main() { std::cout << darope::stats::answer(nlohmann::json::parse(std::cin)) << '\n'; }
