#include "runs/score_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace darope {
namespace {

ScoreMean mean_of(const ScoreKey& key, double at, const std::vector<double>& values) {
  const double count = double(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {key, at, mean, count > 1 ? std::sqrt(squares / (count - 1)) : 0, int64_t(values.size())};
}

const Metric* find_metric(const ScoreKey& key, const std::vector<Metric>& metrics) {
  const auto found =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return key_of(m) == key; });
  return found == metrics.end() ? nullptr : &*found;
}

// What counting gets, where the metric says so.
std::string baselines_at(const Metric& metric, double at, const std::string& place) {
  std::string out;
  for (const auto& [name, places] : metric.baselines)
    if (const auto found = places.find(at); found != places.end())
      out += fmt::format("{:>8}  {:16} {:10.4f}\n", place, name, found->second);
  return out;
}

}  // namespace

std::vector<ScoreMean> means_of(const ScoreTable& scores) {
  std::vector<ScoreMean> means;
  for (const auto& [key, places] : scores)
    for (const auto& [at, each] : places) means.push_back(mean_of(key, at, each.values));
  std::stable_sort(means.begin(), means.end(), [](const ScoreMean& a, const ScoreMean& b) {
    return std::tie(a.key.axis, a.at) < std::tie(b.key.axis, b.at);
  });
  return means;
}

std::string table_of(const std::vector<ScoreMean>& means, const std::vector<Metric>& metrics) {
  constexpr int64_t kMostPlaces = 32;  // that fit a screen: a longer curve is for the report
  std::map<ScoreKey, int64_t> places;
  for (const ScoreMean& each : means) ++places[each.key];
  std::string out, axis;
  for (const ScoreMean& each : means) {
    if (places[each.key] > kMostPlaces) continue;
    if (each.key.axis != axis) {
      axis = each.key.axis;
      out +=
          fmt::format("{:>8}  {:16} {:>10} {:>10} {:>9}\n", axis, "metric", "mean", "deviation", "examples");
    }
    const Metric* metric = find_metric(each.key, metrics);
    const std::string place = fmt::format("{}{}", each.at, metric ? metric->axis.unit : "");
    out += fmt::format("{:>8}  {:16} {:10.4f} {:10.4f} {:9}\n", place, each.key.metric, each.mean,
                       each.deviation, each.examples);
    if (metric) out += baselines_at(*metric, each.at, place);
  }
  for (const auto& [key, count] : places)
    if (count > kMostPlaces) out += fmt::format("{} along {}: {} places\n", key.metric, key.axis, count);
  return out;
}

}  // namespace darope
