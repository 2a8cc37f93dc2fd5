#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"

namespace darope::report {
namespace {

// What the bars span. One far worse than all others would press them into one length: it is drawn beyond the
// axis.
struct Axis {
  double low = 0, high = 1;
  double place(double value) const { return 100 * std::clamp((value - low) / (high - low), 0.0, 1.0); }
};

Axis axis_of(const AtLength& at) {
  constexpr double far = 4;                     // times the distance that the next one has from the best
  std::vector<std::pair<double, double>> ends;  // mean, half-width
  for (const Cell& cell : at.cells)
    if (cell.mean) ends.emplace_back(*cell.mean, cell.cousineau_morey.value_or(0));
  std::sort(ends.begin(), ends.end());
  const double best = ends.front().first;
  if (ends.size() > 2 && ends.back().first - best > far * (ends[ends.size() - 2].first - best))
    ends.pop_back();
  Axis axis{best, best};
  for (const auto& [mean, width] : ends)
    axis = {std::min(axis.low, mean - width), std::max(axis.high, mean + width)};
  const double room = axis.high > axis.low ? axis.high - axis.low : std::max(1e-3, std::abs(best));
  return {std::max(0.0, axis.low - 0.5 * room), axis.high + 0.05 * room};
}

// The sign that the tables have, and how sure it is: more stars for a smaller Holm p.
std::string mark(const AtLength& at, const std::string& encoding) {
  std::string text = sign_against_reference(at, encoding);
  for (const stats::Comparison& c : at.comparisons)
    if (c.second == encoding && (c.outcome == stats::Outcome::better || c.outcome == stats::Outcome::worse))
      for (const double p : {0.05, 0.01, 0.001}) text += c.holm_ln_p < std::log(p) ? "*" : "";
  return text;
}

std::string bar(const Summary& summary, const AtLength& at, const Axis& axis, size_t e) {
  const Cell& cell = at.cells[e];
  if (!cell.mean) return "";
  const double width = cell.cousineau_morey.value_or(0), left = axis.place(*cell.mean - width),
               right = axis.place(*cell.mean + width);
  const bool clipped = *cell.mean > axis.high;
  const std::string whisker =
      clipped || width == 0
          ? ""
          : fmt::format("<i style='left:{:.2f}%;width:{:.2f}%'></i>", left, std::max(0.2, right - left));
  return fmt::format(
      "<div class='row' {}><span>{}</span><span class='track'><b class='{}' "
      "style='background:var(--s{});width:{:.2f}%'></b>{}</span>"
      "<span>{}<small> ± {}</small> {}</span></div>",
      of_encoding(e), escape(cell.encoding), clipped ? "clipped" : "", e % 8, axis.place(*cell.mean), whisker,
      score_text(*cell.mean, false), score_text(width, false),
      cell.encoding == summary.reference ? "" : mark(at, cell.encoding));
}

std::string figure(const Summary& summary, const Dataset& dataset, const AtLength& at) {
  const Axis axis = axis_of(at);
  std::string rows;
  for (size_t e = 0; e < at.cells.size(); ++e) rows += bar(summary, at, axis, e);
  const std::string pooled = at.loftus_masson ? fmt::format("; ± {} for all by Loftus and Masson",
                                                            score_text(*at.loftus_masson, false))
                                              : "";
  return fmt::format(
      "<figure><figcaption>{}</figcaption><div class='bars'>{}</div>"
      "<p class='fine'>{} examples; bars begin at {:.4g}{}.</p></figure>",
      escape(dataset.name), rows, at.examples, axis.low, pooled);
}

bool has_scores(const AtLength& at) {
  return std::any_of(at.cells.begin(), at.cells.end(),
                     [](const Cell& cell) { return cell.mean.has_value(); });
}

}  // namespace

std::string losses_section(const Summary& summary, const Gathered&) {
  std::string blocks;
  for (size_t i = 0; i < summary.lengths.size(); ++i) {
    std::string figures;
    for (const Dataset& dataset : summary.datasets)
      if (const AtLength* at = dataset.at(summary.lengths[i]);
          at && !dataset.metric.higher_better && has_scores(*at))
        figures += figure(summary, dataset, *at);
    if (!figures.empty()) blocks += per_length(summary, i, "<div class='grid wide'>" + figures + "</div>");
  }
  if (blocks.empty()) return "";
  return fmt::format(
             "<p>Test loss in nats per token ± its 95 % within-example half-width (Cousineau-Morey). Against "
             "{}, as in the tables: ▲ better, "
             "▼ worse, = tied (the difference lies within the margin, however sure it is), ? undecided. "
             "Stars behind ▲ and ▼ give the "
             "Holm-adjusted p: * below 0.05, ** 0.01, *** 0.001. A bar with a ragged end goes on beyond the "
             "axis. "
             "All encodings share a dataset's hyperparameters, which were not re-tuned for any of them.</p>",
             escape(summary.reference)) +
         blocks;
}

}  // namespace darope::report
