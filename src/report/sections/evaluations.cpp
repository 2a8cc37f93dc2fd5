#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/lines.h"
#include "report/picture.h"
#include "report/sections/sections.h"
#include "report/style.h"
#include "report/text.h"

namespace darope::report {
namespace {

constexpr double kNormal = 1.96;  // of a 95 % interval

// What the models of a report were asked after their end: one dataset for each evaluation.
struct Asked {
  const Summary& page;     // its encodings are those the page can hide
  const Summary& summary;  // of the evaluations
  const Gathered& runs;
};

size_t place_on_page(const Asked& asked, const std::string& encoding) {
  return index_of(asked.page, encoding);  // one that was not trained, such as yarn, is never hidden
}

// Means over seeds along an axis, with intervals over examples where `spread` asks for them.
std::vector<Line> lines_of(const Asked& asked, const std::string& dataset, const ScoreKey& key, bool spread) {
  std::vector<Line> lines;
  for (const std::string& encoding : asked.summary.encodings) {
    std::map<double, std::vector<const Scores*>> found;
    for (const Run& run : asked.runs.runs)
      if (run.dataset == dataset && run.encoding == encoding && run.scores.contains(key))
        for (const auto& [x, scores] : run.scores.at(key)) found[x].push_back(&scores);
    Line line{place_on_page(asked, encoding), encoding, {}};
    for (const auto& [x, seeds] : found) {
      stats::Values mean(seeds.front()->values.size());
      for (const Scores* each : seeds)
        for (size_t i = 0; i < std::min(mean.size(), each->values.size()); ++i)
          mean[i] += each->values[i] / double(seeds.size());
      const double y = stats::mean(mean);
      const double half =
          spread && mean.size() > 1 ? kNormal * stats::sd(mean) / std::sqrt(double(mean.size())) : 0;
      line.points.push_back({x, y, y - half, y + half});
    }
    if (!line.points.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::string legend(const Asked& asked, const std::vector<Line>& lines) {
  std::string out = "<p class='fine'>";
  for (const Line& line : lines)
    out += fmt::format("<span {}>{}{}</span> &nbsp; ", of_encoding(place_on_page(asked, line.encoding)),
                       swatch(line.encoding), escape(line.encoding));
  return out + "</p>";
}

std::string figure(const std::string& caption, const std::string& body) {
  return fmt::format("<figure><figcaption>{}</figcaption>{}</figure>", escape(caption), body);
}

// A table with a row for each encoding and a column for each place, of what `cell` says.
template <class CellText>
std::string by_place(const Asked& asked, const Dataset& dataset, const std::string& unit,
                     const CellText& cell) {
  std::string head = heading_cell("encoding"), rows;
  for (const AtLength& at : dataset.lengths) head += heading_cell(escape(fmt::format("{:g}{}", at.x, unit)));
  for (size_t e = 0; e < asked.summary.encodings.size(); ++e) {
    if (!dataset.lengths.front().cells[e].mean) continue;
    const std::string& encoding = asked.summary.encodings[e];
    rows += fmt::format("<tr {}><td>{}{}</td>", of_encoding(place_on_page(asked, encoding)), swatch(encoding),
                        escape(encoding));
    for (const AtLength& at : dataset.lengths)
      rows += at.cells[e].mean ? number_cell(cell(at.cells[e]), at.cells[e].mean) : "<td></td>";
    rows += "</tr>";
  }
  return table(head, rows, "sortable");
}

// Verdicts at each place, as everywhere in the report.
std::string pictures(const Asked& asked, const Dataset& dataset, const std::string& unit) {
  std::string figures;
  for (const AtLength& at : dataset.lengths)
    if (at.judged)
      figures +=
          figure(fmt::format("{:g}{}", at.x, unit),
                 picture_svg({at.standings, *at.judged, dataset.metric, asked.page.encodings, dataset.name}));
  return figures.empty()
             ? ""
             : "<details><summary>Verdicts</summary><div class='grid wide'>" + figures + "</div></details>";
}

// L: the first band is the half of it that ends there.
double training_length(const Asked& asked, const Dataset& dataset) {
  for (const Run& run : asked.runs.runs)
    if (run.dataset == dataset.name)
      if (const auto& places = run.scores.at(key_of(dataset.metric)); !places.begin()->second.tokens.empty())
        return 2 * places.begin()->second.tokens.front();
  return 0;
}

// A cell of any metric: a share with Wilson's interval where it is one of yes and no.
std::string cell_text(const Cell& cell, const Metric& metric) {
  if (!cell.proportion) return score_text(cell.mean, metric.is_share());
  return fmt::format("{:.1f} <small>{:.1f} – {:.1f}</small>", 100 * *cell.mean,
                     100 * cell.proportion->wilson.low, 100 * cell.proportion->wilson.high);
}

// Whatever has no chapter of its own: the metric that is compared as curve and table, the others as curves.
std::string any_part(const Asked& asked, const Dataset& dataset, const std::vector<Metric>& metrics) {
  constexpr size_t kMarked = 32;  // places of a curve that can be told apart
  std::string figures;
  for (const Metric& metric : metrics) {
    const std::vector<Line> lines = lines_of(asked, dataset.name, key_of(metric), true);
    if (lines.empty()) continue;
    if (figures.empty()) figures = legend(asked, lines);
    figures += figure(metric.title, lines_svg({.title = metric.title,
                                               .x_title = metric.axis.meaning,
                                               .y_title = metric.unit,
                                               .lines = lines,
                                               .markers = lines.front().points.size() <= kMarked}));
  }
  const std::string& unit = dataset.metric.axis.unit;
  return figures +
         by_place(asked, dataset, unit, [&](const Cell& cell) { return cell_text(cell, dataset.metric); }) +
         pictures(asked, dataset, unit);
}

std::string positions_part(const Asked& asked, const Dataset& dataset) {
  const std::vector<Line> lines = lines_of(asked, dataset.name, {"perplexity", "position"}, false);
  const double length = training_length(asked, dataset);
  double best = INFINITY;
  for (const Cell& cell : dataset.lengths.front().cells)
    if (cell.mean) best = std::min(best, std::exp(*cell.mean));
  const double top = 3 * best;  // a curve that diverges would press the others flat
  return fmt::format(
             "<p>Perplexity at each position of {} documents, read in a single pass; the dotted line is the "
             "training length, {:g}. Means over documents, smoothed over 128 positions; what lies above "
             "{:.0f} "
             "is cut.</p>",
             dataset.lengths.front().examples, length, top) +
         legend(asked, lines) +
         lines_svg({.title = dataset.name,
                    .x_title = "position",
                    .y_title = "perplexity",
                    .lines = lines,
                    .markers = false,
                    .mark = length,
                    .top = top}) +
         "<p>Perplexity (exp of the mean loss) from a multiple of the training length to twice it:</p>" +
         by_place(asked, dataset, "x",
                  [](const Cell& cell) { return fmt::format("{:.2f}", std::exp(*cell.mean)); }) +
         pictures(asked, dataset, "x");
}

// Whether every layer has a score of every prompt.
bool is_square(const std::map<double, Scores>& layers, size_t prompts) {
  return std::ranges::all_of(layers,
                             [&](const auto& layer) { return layer.second.values.size() == prompts; });
}

// Cells of prompts by layers; rows in one order for all, four prompts to a row.
std::string attention_map(const Asked& asked, const Dataset& dataset, const std::string& encoding,
                          const std::vector<size_t>& order) {
  const ScoreKey key{"attention", "layer"};
  for (const Run& run : asked.runs.runs) {
    if (run.dataset != dataset.name || run.encoding != encoding || !run.scores.contains(key)) continue;
    if (!is_square(run.scores.at(key), order.size())) continue;
    constexpr size_t kTogether = 4;
    constexpr double kColumn = 10, kLine = 3, kFull = 3;  // a log ratio of 3 has the full colour
    const auto& layers = run.scores.at(key);
    const size_t rows = order.size() / kTogether;
    std::string cells;
    size_t column = 0;
    for (const auto& [layer, scores] : layers) {
      for (size_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (size_t i = 0; i < kTogether; ++i) sum += scores.values.at(order[row * kTogether + i]);
        const double share = std::clamp(sum / double(kTogether) / kFull, -1.0, 1.0);
        cells += fmt::format(
            "<rect x='{:g}' y='{:g}' width='{:g}' height='{:g}' fill='var({})' opacity='{:.2f}'/>",
            double(column) * kColumn, double(row) * kLine, kColumn, kLine, share > 0 ? "--s1" : "--s0",
            std::abs(share));
      }
      ++column;
    }
    return figure(encoding,
                  fmt::format("<svg class='map' viewBox='0 0 {:g} {:g}' role='img' aria-label='{}'>{}</svg>",
                              double(column) * kColumn, double(rows) * kLine, escape(encoding), cells));
  }
  return "";
}

// Prompts by the reference's mean over the last two fifths of its layers.
std::vector<size_t> order_of_prompts(const Asked& asked, const Dataset& dataset) {
  const ScoreKey key{"attention", "layer"};
  const Run* chosen = nullptr;
  for (const Run& run : asked.runs.runs)
    if (run.dataset == dataset.name && run.scores.contains(key) &&
        (!chosen || run.encoding == asked.summary.reference))
      chosen = &run;
  if (!chosen) return {};
  const auto& layers = chosen->scores.at(key);
  std::vector<double> late(layers.begin()->second.values.size());
  if (!is_square(layers, late.size())) return {};
  const size_t first = layers.size() - (2 * layers.size() + 4) / 5;
  size_t at = 0;
  for (const auto& [layer, scores] : layers)
    if (at++ >= first)
      for (size_t i = 0; i < late.size(); ++i) late[i] += scores.values[i];
  std::vector<size_t> order(late.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return late[a] > late[b]; });
  return order;
}

std::string probe_part(const Asked& asked, const Dataset& dataset) {
  const std::string unit = dataset.metric.axis.unit;
  std::vector<Line> shares = lines_of(asked, dataset.name, key_of(dataset.metric), false);
  for (Line& line : shares)
    for (Line::Point& point : line.points)
      if (const AtLength* at = dataset.at(point.x))
        for (const Cell& cell : at->cells)
          if (cell.encoding == line.encoding && cell.proportion) {
            point.low = 100 * cell.proportion->wilson.low, point.high = 100 * cell.proportion->wilson.high;
            point.y *= 100;
          }
  const auto depth = [&](const char* metric, const char* y) {
    return lines_svg({.title = metric,
                      .x_title = "layer",
                      .y_title = y,
                      .lines = lines_of(asked, dataset.name, {metric, "layer"}, true)});
  };
  std::string maps;
  const std::vector<size_t> order = order_of_prompts(asked, dataset);
  for (const std::string& encoding : asked.summary.encodings)
    maps += attention_map(asked, dataset, encoding, order);
  return fmt::format("<p>Share of right answers with Wilson's 95 % intervals, {} prompts at each place.</p>",
                     dataset.lengths.front().examples) +
         legend(asked, shares) +
         lines_svg({.title = dataset.name,
                    .x_title = dataset.metric.axis.meaning,
                    .y_title = "right, %",
                    .lines = shares,
                    .log_x = true}) +
         by_place(asked, dataset, unit, [&](const Cell& cell) { return cell_text(cell, dataset.metric); }) +
         pictures(asked, dataset, unit) +
         "<p>Layer by layer at the hardest place, 95 % intervals over prompts: the margin that final norm "
         "and head read "
         "behind each block, and the log of the share of attention at the right value over the mean at the "
         "others.</p>"
         "<div class='grid wide'>" +
         figure("margin by the logit lens", depth("lens", "nats")) +
         figure("attention", depth("attention", "log ratio")) + "</div>" +
         (maps.empty()
              ? ""
              : fmt::format(
                    "<p>The same of prompts (down, in one order for all: by {}'s late layers) and layers "
                    "(across): red attends more to the right value, blue to the others.</p><div "
                    "class='grid maps'>{}</div>",
                    escape(asked.summary.reference), maps));
}

// Two places of their own, one for each probe: the drop, and how often the model's own coordinates are
// better.
std::string shuffle_part(const Asked& asked, const Dataset& dataset) {
  std::string rows;
  for (const Run& run : asked.runs.runs) {
    if (run.dataset != dataset.name) continue;
    for (const char* axis : {"distance", "bindings"})
      for (const auto& [x, scores] : run.scores.at({"drop", axis})) {
        const double half = kNormal * stats::sd(scores.values) / std::sqrt(double(scores.values.size()));
        const auto& better_at = run.scores.at({"own_better", axis});
        const double better = better_at.contains(x) ? stats::mean(better_at.at(x).values) : NAN;
        rows += fmt::format(
            "<tr><td>{}{}</td><td>{}</td><td>{} {:g}</td><td class='n'>{:.2f} ± {:.2f}</td><td "
            "class='n'>{:.0f} %</td><td class='n'>{}</td></tr>",
            swatch(run.encoding), escape(run.encoding), run.seed, axis, x, stats::mean(scores.values), half,
            100 * better, scores.values.size());
      }
  }
  return "<p>What the margin loses when learned coordinates are dealt out anew among the tokens of a prompt, "
         "all else "
         "as it was; mean and 95 % interval over prompts.</p>" +
         table(heading_cell("encoding") + heading_cell("seed") + heading_cell("probe") +
                   heading_cell("drop, nats") + heading_cell("own coordinates better") +
                   heading_cell("prompts"),
               rows);
}

// Whether every run of the dataset was scored by all of these: what a chapter of its own reads.
bool all_have(const Asked& asked, const Dataset& dataset, const std::vector<ScoreKey>& keys) {
  return std::ranges::all_of(asked.runs.runs, [&](const Run& run) {
    return run.dataset != dataset.name ||
           std::ranges::all_of(keys, [&](const ScoreKey& key) { return run.scores.contains(key); });
  });
}

std::string part_of(const Asked& asked, const Dataset& dataset) {
  if (all_have(asked, dataset, {{"perplexity", "position"}})) return positions_part(asked, dataset);
  if (all_have(asked, dataset,
               {{"drop", "distance"},
                {"drop", "bindings"},
                {"own_better", "distance"},
                {"own_better", "bindings"}}))
    return shuffle_part(asked, dataset);
  if (all_have(asked, dataset, {{"lens", "layer"}, {"attention", "layer"}}))
    return probe_part(asked, dataset);
  for (const Run& run : asked.runs.runs)
    if (run.dataset == dataset.name) return any_part(asked, dataset, run.metrics);
  return "";
}

}  // namespace

std::string evaluations_section(const Summary& summary, const Gathered& all) {
  if (!all.evaluations) return "";
  const std::vector<std::string>& names = all.evaluations->encodings;
  Options options = summary.options;
  const bool asked_too = std::find(names.begin(), names.end(), summary.reference) != names.end();
  options.reference = asked_too ? summary.reference : "";
  const Summary found = summarise(*all.evaluations, options);
  const Asked asked{summary, found, *all.evaluations};
  std::string html;
  for (const Dataset& dataset : found.datasets) {
    if (dataset.lengths.empty()) continue;
    html += fmt::format("<h3>{}</h3>", escape(dataset.name));
    html += part_of(asked, dataset);
  }
  return html;
}

}  // namespace darope::report
