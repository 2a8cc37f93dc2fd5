#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "report/sections/sections.h"

namespace darope::report {
namespace {

using nlohmann::ordered_json;

constexpr size_t kPointsOfPage = 60'000;  // all curves together: what the page's weight allows

// The mean over seeds, where their curves have the same steps; else the first seed's.
std::vector<CurvePoint> mean_curve(const Gathered& all, const std::string& dataset,
                                   const std::string& encoding) {
  std::vector<CurvePoint> mean;
  double count = 0;
  for (const Run* run : all.runs_of(dataset, encoding)) {
    const std::vector<CurvePoint>& curve = run->curve;
    if (run->diverged || !run->weights_of.empty() || curve.empty()) continue;
    if (mean.empty()) mean.assign(curve.size(), {});
    const bool same_steps = mean.size() == curve.size() &&
                            (count == 0 || std::equal(mean.begin(), mean.end(), curve.begin(),
                                                      [](auto& a, auto& b) { return a.step == b.step; }));
    if (!same_steps) continue;
    ++count;
    for (size_t i = 0; i < mean.size(); ++i)
      mean[i] = {curve[i].step, mean[i].loss + (curve[i].loss - mean[i].loss) / count};
  }
  return mean;
}

ordered_json points(const std::vector<CurvePoint>& curve, size_t stride) {
  ordered_json steps = ordered_json::array(), losses = ordered_json::array();
  for (size_t i = 0; i < curve.size(); ++i) {
    if (i % stride != 0 && i + 1 != curve.size()) continue;
    steps.push_back(curve[i].step);
    losses.push_back(std::strtod(fmt::format("{:.4g}", curve[i].loss).c_str(), nullptr));
  }
  return {{"steps", steps}, {"loss", losses}};
}

}  // namespace

ordered_json curves_data(const Summary& summary, const Gathered& all) {
  const size_t curves = summary.datasets.size() * summary.encodings.size(),
               stride = 1 + curves * kCurvePoints / kPointsOfPage;
  ordered_json charts = ordered_json::array();
  for (const Dataset& dataset : summary.datasets) {
    ordered_json series = ordered_json::array(), steps = nullptr;
    for (const std::string& encoding : summary.encodings) {
      ordered_json own = points(mean_curve(all, dataset.name, encoding), stride);
      if (steps.is_null() && !own["steps"].empty()) steps = own["steps"];
      if (own["steps"] == steps) own.erase("steps");  // nearly always shared
      series.push_back(std::move(own));
    }
    charts.push_back({{"steps", steps}, {"series", series}});
  }
  return charts;
}

std::string curves_section(const Summary& summary, const Gathered& all) {
  if (std::all_of(all.runs.begin(), all.runs.end(), [](const Run& run) { return run.curve.empty(); }))
    return "";
  std::string html = fmt::format(
      "<p>Training loss by step, the mean over seeds, averaged down to at most {} points.</p><div "
      "class='grid'>",
      kCurvePoints);
  for (size_t d = 0; d < summary.datasets.size(); ++d) html += chart("curves", d, summary.datasets[d].name);
  return html + "</div>";
}

}  // namespace darope::report
