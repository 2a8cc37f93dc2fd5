#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"

namespace darope::report {
namespace {

using nlohmann::ordered_json;

// Four digits draw the same line and keep the page small.
ordered_json rounded(const std::optional<double>& value, double scale) {
  if (!value) return nullptr;
  return std::round(*value * scale * 1e4) / 1e4;
}

}  // namespace

ordered_json lengths_data(const Summary& summary) {
  ordered_json charts = ordered_json::array();
  for (const Dataset& dataset : summary.datasets) {
    const double scale = dataset.metric.is_share() ? 100 : 1;
    ordered_json x = ordered_json::array(), series = ordered_json::array();
    for (const AtLength& at : dataset.lengths) x.push_back(place_name(dataset.metric.axis, at.x));
    for (size_t e = 0; e < summary.encodings.size(); ++e) {
      ordered_json mean = ordered_json::array(), width = ordered_json::array(),
                   spread = ordered_json::array();
      for (const AtLength& at : dataset.lengths) {
        mean.push_back(rounded(at.cells[e].mean, scale));
        width.push_back(rounded(at.cells[e].half_width, scale));
        spread.push_back(rounded(at.cells[e].seed_sd, scale));
      }
      series.push_back({{"mean", mean}, {"width", width}, {"spread", spread}});
    }
    charts.push_back({{"accuracy", dataset.metric.is_share()},
                      {"chance", rounded(dataset.metric.true_chance, scale)},
                      {"axis", dataset.metric.axis.meaning},
                      {"x", x},
                      {"series", series}});
  }
  return charts;
}

std::string lengths_section(const Summary& summary, const Gathered&) {
  if (summary.lengths.size() < 2) return "";
  const bool accuracies = std::any_of(summary.datasets.begin(), summary.datasets.end(),
                                      [](const Dataset& d) { return d.metric.higher_better; });
  std::string html = fmt::format(
      "<p>Mean score at each {}{}. Hover a point for its value and "
      "intervals.</p><div class='grid'>",
      escape(summary.axis().meaning), accuracies ? "; the thin grey line is chance" : "");
  for (size_t d = 0; d < summary.datasets.size(); ++d) html += chart("lengths", d, summary.datasets[d].name);
  return html + "</div>";
}

}  // namespace darope::report
