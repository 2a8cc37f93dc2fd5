#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "report/lines.h"
#include "report/picture.h"
#include "report/sections/sections.h"
#include "report/style.h"
#include "report/text.h"

namespace darope::report {
namespace {

constexpr double kNormal = 1.96;  // of a 95 % interval

// What the models of a report were asked after their end: one dataset for each evaluation. How a metric is
// shown follows from what it says of itself: places along an axis are a curve and, where they are few, a
// table; a single place is a row; examples that differ are a map.
struct Asked {
  const Summary& page;     // its encodings are those the page can hide
  const Summary& summary;  // of the evaluations, or the page's own
  const Gathered& runs;
};

size_t place_on_page(const Asked& asked, const std::string& encoding) {
  return index_of(asked.page, encoding);  // one that was not trained, such as yarn, is never hidden
}

// Scores of every seed of an encoding, by place.
using Places = std::map<double, std::vector<const Scores*>>;
Places places_of(const Asked& asked, const Dataset& dataset, const std::string& encoding,
                 const Metric& metric) {
  Places found;
  for (const Run* run : asked.runs.runs_of(dataset.name, encoding))
    if (run->scores.contains(key_of(metric)))
      for (const auto& [x, scores] : run->scores.at(key_of(metric))) found[x].push_back(&scores);
  return found;
}

// The mean over seeds and examples, with its interval over examples: Wilson's of yes and no.
Line::Point point_at(double x, const std::vector<const Scores*>& seeds, const Metric& metric) {
  stats::Values mean(seeds.front()->values.size());
  for (const Scores* each : seeds)
    for (size_t i = 0; i < std::min(mean.size(), each->values.size()); ++i)
      mean[i] += each->values[i] / double(seeds.size());
  const double y = stats::mean(mean), scale = metric.is_share() ? 100 : 1;
  if (metric.unit == kYesOrNo) {
    const stats::Interval share = stats::wilson(std::lround(y * double(mean.size())), int64_t(mean.size()));
    return {x, scale * y, scale * share.low, scale * share.high};
  }
  const double half = mean.size() > 1 ? kNormal * stats::sd(mean) / std::sqrt(double(mean.size())) : 0;
  return {x, scale * y, scale * (y - half), scale * (y + half)};
}

std::vector<Line> lines_of(const Asked& asked, const Dataset& dataset, const Metric& metric) {
  std::vector<Line> lines;
  for (const std::string& encoding : asked.summary.encodings) {
    Line line{place_on_page(asked, encoding), encoding, {}};
    for (const auto& [x, seeds] : places_of(asked, dataset, encoding, metric))
      line.points.push_back(point_at(x, seeds, metric));
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string named(const Asked& asked, const std::string& encoding) {
  return fmt::format("<span {}>{}{}</span>", of_encoding(place_on_page(asked, encoding)), swatch(encoding),
                     escape(encoding));
}

std::string legend(const Asked& asked, const Dataset& dataset) {
  std::string out = "<p class='fine'>";
  for (const Cell& cell : dataset.lengths.front().cells)
    if (cell.mean) out += named(asked, cell.encoding) + " &nbsp; ";
  return out + "</p>";
}

std::string figure(const std::string& caption, const std::string& body) {
  return fmt::format("<figure><figcaption>{}</figcaption>{}</figure>", escape(caption), body);
}

std::string unit_of(const Metric& metric) { return metric.is_share() ? "%" : metric.unit; }

// Three times the worst of the best line: one that diverges would press the others flat.
std::optional<double> cut_of(const std::vector<Line>& lines, const Metric& metric) {
  if (metric.higher_better) return {};
  double best = INFINITY, worst = 0;
  for (const Line& line : lines) {
    double top = 0;
    for (const Line::Point& point : line.points) top = std::max(top, point.y);
    best = std::min(best, top), worst = std::max(worst, top);
  }
  return worst > 3 * best ? std::optional(3 * best) : std::nullopt;
}

std::string curve(const std::vector<Line>& lines, const Metric& metric) {
  constexpr size_t kMarked = 32;  // places of a curve that can be told apart
  const std::optional<double> cut = cut_of(lines, metric);
  std::string caption = fmt::format("{}: {}", metric.title, metric.meaning);
  if (metric.axis.mark)
    caption += fmt::format("; dotted: {}, {:g}", metric.axis.mark_meaning, *metric.axis.mark);
  if (cut) caption += fmt::format("; what lies above {:.3g} is cut", *cut);
  const bool logarithmic = metric.axis.by_factors && std::ranges::all_of(lines, [](const Line& line) {
                             return line.points.front().x > 0;  // the first place is the smallest
                           });
  return figure(caption, lines_svg({.title = metric.title,
                                    .x_title = metric.axis.meaning,
                                    .y_title = unit_of(metric),
                                    .lines = lines,
                                    .log_x = logarithmic,
                                    .markers = lines.front().points.size() <= kMarked,
                                    .mark = metric.axis.mark,
                                    .top = cut}));
}

std::string point_text(const Line::Point& point, const Metric& metric) {
  const int digits = metric.is_share() ? 1 : 3;
  std::string text = fmt::format("{:.{}f}", point.y, digits);
  if (point.low < point.high)
    text += fmt::format(" <small>{:.{}f} – {:.{}f}</small>", point.low, digits, point.high, digits);
  return text;
}

// A row for each encoding, a column for each place.
std::string by_place(const Asked& asked, const std::vector<Line>& lines, const Metric& metric) {
  std::set<double> places;
  for (const Line& line : lines)
    for (const Line::Point& point : line.points) places.insert(point.x);
  std::string head = heading_cell(escape(metric.title)), rows;
  for (const double x : places) head += heading_cell(escape(fmt::format("{:g}{}", x, metric.axis.unit)));
  for (const Line& line : lines) {
    std::map<double, std::string> cells;
    for (const Line::Point& point : line.points)
      cells[point.x] = number_cell(point_text(point, metric), point.y);
    rows += fmt::format("<tr {}><td>{}{}</td>", of_encoding(place_on_page(asked, line.encoding)),
                        swatch(line.encoding), escape(line.encoding));
    for (const double x : places) rows += cells.contains(x) ? cells.at(x) : "<td></td>";
    rows += "</tr>";
  }
  return table(head, rows, "sortable");
}

// Verdicts at each place, as everywhere in the report.
std::string pictures(const Asked& asked, const Dataset& dataset) {
  std::string figures;
  for (const AtLength& at : dataset.lengths)
    if (at.judged)
      figures +=
          figure(fmt::format("{:g}{}", at.x, dataset.metric.axis.unit),
                 picture_svg({at.standings, *at.judged, dataset.metric, asked.page.encodings, dataset.name}));
  return figures.empty()
             ? ""
             : "<details><summary>Verdicts</summary><div class='grid wide'>" + figures + "</div></details>";
}

// The scores of one run, laid out by example and place: none where a place lacks examples.
struct Map {
  std::string encoding;
  std::vector<const stats::Values*> columns;  // one for each place
};
std::vector<Map> maps_of(const Asked& asked, const Dataset& dataset, const Metric& metric) {
  std::vector<Map> maps;
  for (const std::string& encoding : asked.summary.encodings) {
    Map map{encoding, {}};
    for (const auto& [x, seeds] : places_of(asked, dataset, encoding, metric))
      map.columns.push_back(&seeds.front()->values);
    const auto whole = [&](const stats::Values* each) { return each->size() == map.columns.front()->size(); };
    if (!map.columns.empty() && std::ranges::all_of(map.columns, whole)) maps.push_back(std::move(map));
  }
  const auto alike = [&](const Map& map) {
    return map.columns.front()->size() == maps.front().columns.front()->size();
  };
  return std::ranges::all_of(maps, alike) ? maps : std::vector<Map>{};
}

// Examples by their mean over the last two fifths of the places.
std::vector<size_t> order_by(const Map& map) {
  std::vector<double> late(map.columns.front()->size());
  for (size_t at = map.columns.size() - (2 * map.columns.size() + 4) / 5; at < map.columns.size(); ++at)
    for (size_t i = 0; i < late.size(); ++i) late[i] += (*map.columns[at])[i];
  std::vector<size_t> order(late.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return late[a] > late[b]; });
  return order;
}

// Four examples to a row, so that it can be seen.
std::string map_svg(const Map& map, const std::vector<size_t>& order) {
  constexpr size_t kTogether = 4;
  constexpr double kColumn = 10, kLine = 3, kFull = 3;  // a mean of 3 has the full colour
  const size_t rows = order.size() / kTogether;
  std::string cells;
  for (size_t column = 0; column < map.columns.size(); ++column)
    for (size_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (size_t i = 0; i < kTogether; ++i) sum += map.columns[column]->at(order[row * kTogether + i]);
      const double share = std::clamp(sum / double(kTogether) / kFull, -1.0, 1.0);
      cells +=
          fmt::format("<rect x='{:g}' y='{:g}' width='{:g}' height='{:g}' fill='var({})' opacity='{:.2f}'/>",
                      double(column) * kColumn, double(row) * kLine, kColumn, kLine,
                      share > 0 ? "--s1" : "--s0", std::abs(share));
    }
  return figure(
      map.encoding,
      fmt::format("<svg class='map' viewBox='0 0 {:g} {:g}' role='img' aria-label='{}'>{}</svg>",
                  double(map.columns.size()) * kColumn, double(rows) * kLine, escape(map.encoding), cells));
}

std::string maps(const Asked& asked, const Dataset& dataset, const Metric& metric) {
  const std::vector<Map> all = maps_of(asked, dataset, metric);
  if (all.empty()) return "";
  const auto reference =
      std::ranges::find(all, asked.summary.reference, [](const Map& map) { return map.encoding; });
  const Map& first = reference == all.end() ? all.front() : *reference;
  const std::vector<size_t> order = order_by(first);
  std::string figures;
  for (const Map& map : all) figures += map_svg(map, order);
  return fmt::format(
      "<p>{}, example by example (down, in one order for all: by {}'s last places; {} across): red is above "
      "0, blue below.</p><div class='grid maps'>{}</div>",
      escape(metric.title), escape(first.encoding), escape(metric.axis.name), figures);
}

// One metric: as it is seen best, whatever it is.
std::string part_of(const Asked& asked, const Dataset& dataset, const Metric& metric) {
  constexpr size_t kWidest = 8;  // that a table can have
  const std::vector<Line> lines = lines_of(asked, dataset, metric);
  if (lines.empty()) return "";
  const size_t places = lines.front().points.size();
  return (places > 1 ? curve(lines, metric) : fmt::format("<p>{}.</p>", escape(metric.meaning))) +
         (places <= kWidest ? by_place(asked, lines, metric) : "") +
         (metric.by_example ? maps(asked, dataset, metric) : "");
}

std::string dataset_part(const Asked& asked, const Dataset& dataset) {
  const auto run = std::ranges::find_if(asked.runs.runs, [&](const Run& each) {
    return each.dataset == dataset.name && !each.diverged;  // those that diverged need describe nothing
  });
  std::string html = fmt::format("<h3>{}</h3><p>{} examples at each place; 95 % intervals over examples.</p>",
                                 escape(dataset.name), dataset.lengths.front().examples) +
                     legend(asked, dataset) + part_of(asked, dataset, run->metrics.front()) +
                     pictures(asked, dataset) + "<div class='grid wide'>";
  for (size_t i = 1; i < run->metrics.size(); ++i)
    html += "<div>" + part_of(asked, dataset, run->metrics[i]) + "</div>";
  return html + "</div>";
}

// What a training's end scored along other axes than the one that is compared on.
std::string along_other_axes(const Asked& asked, const Dataset& dataset) {
  std::string html;
  for (const Beside& each : dataset.beside)
    if (each.metric.axis.name != dataset.metric.axis.name)
      html += "<div>" + part_of(asked, dataset, each.metric) + "</div>";
  if (html.empty()) return "";
  return fmt::format("<h3>{}</h3><p>95 % intervals over examples.</p>{}<div class='grid wide'>{}</div>",
                     escape(dataset.name), legend(asked, dataset), html);
}

}  // namespace

std::string evaluations_section(const Summary& summary, const Gathered& all) {
  std::string html;
  for (const Dataset& dataset : summary.datasets) html += along_other_axes({summary, summary, all}, dataset);
  if (!summary.evaluations) return html;
  const Asked asked{summary, *summary.evaluations, *all.evaluations};
  for (const Dataset& dataset : summary.evaluations->datasets)
    if (!dataset.lengths.empty()) html += dataset_part(asked, dataset);
  return html;
}

}  // namespace darope::report
