#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"
#include "report/words.h"

namespace darope::report {
namespace {

struct Range {
  double low = 0, high = 1;
};

// Accuracies are coloured from chance to perfect, losses from the worst to the best of their row.
Range colour_range(const Dataset& dataset, const AtLength& at) {
  if (dataset.metric.higher_better) return {dataset.metric.true_chance.value_or(0), 1};
  Range range{-INFINITY, INFINITY};
  for (const Cell& cell : at.cells)
    if (cell.mean) range = {std::max(range.low, *cell.mean), std::min(range.high, *cell.mean)};
  return range;
}

double heat(double value, const Range& range) {
  return range.high == range.low ? 0.5 : std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
}

bool is_best(const Dataset& dataset, const AtLength& at, const Cell& cell) {
  return std::none_of(at.cells.begin(), at.cells.end(), [&](const Cell& other) {
    return other.mean && (dataset.metric.higher_better ? *other.mean > *cell.mean : *other.mean < *cell.mean);
  });
}

// What other metrics say at the same place.
std::string beside(const Dataset& dataset, double x, const std::string& encoding) {
  std::string text;
  for (const Beside& other : dataset.beside) {
    if (other.metric.axis.name != dataset.metric.axis.name) continue;
    for (const Beside::Place& place : other.places)
      for (const Cell& cell : place.cells) {
        if (place.x != x || cell.encoding != encoding || !cell.mean) continue;
        text += fmt::format("\n{} {}", other.metric.title, score_text(*cell.mean, other.metric.is_share()));
        if (cell.proportion)
          text += fmt::format(" (Wilson {} to {})", score_text(cell.proportion->wilson.low, true),
                              score_text(cell.proportion->wilson.high, true));
      }
  }
  return text;
}

std::string hover(const Dataset& dataset, const AtLength& at, const Cell& cell) {
  const auto score = [&](double v) { return score_text(v, dataset.metric.is_share()); };
  std::string text = fmt::format("{} on {}: {}", cell.encoding, dataset.name, score(*cell.mean));
  if (cell.half_width) text += fmt::format("\nsimultaneous 95 % interval ± {}", score(*cell.half_width));
  if (cell.pooled) text += fmt::format("\nover all tokens alike {}", score(*cell.pooled));
  std::string seeds;
  for (size_t s = 0; s < cell.seeds.size(); ++s)
    seeds += fmt::format("{}{}: {}", s ? ", " : "", cell.seeds[s], score(cell.by_seed[s]));
  text += "\nby seed " + seeds + (cell.seed_sd ? fmt::format(" (SD {})", score(*cell.seed_sd)) : "");
  text += beside(dataset, at.x, cell.encoding);
  if (cell.normalised) text += fmt::format("\nchance-normalised {:.1f} %", 100 * *cell.normalised);
  if (cell.normalised_true) text += fmt::format(", with true chance {:.1f} %", 100 * *cell.normalised_true);
  if (dataset.metric.unit == kNats) text += fmt::format("\nperplexity {:.4g}", std::exp(*cell.mean));
  return text;
}

// Signs against every encoding, for the reader who takes another reference.
std::string all_signs(const std::vector<Cell>& against, const AtLength& at, const std::string& encoding) {
  std::vector<std::string> signs;
  for (const Cell& other : against)
    signs.push_back(other.encoding == encoding ? "" : sign_against(other.encoding, at, encoding));
  return fmt::format("{}", fmt::join(signs, ","));
}

std::string cell_html(const Dataset& dataset, const AtLength& at, const Cell& cell, size_t e,
                      const std::string& reference) {
  const std::string lost =
      cell.diverged.empty()
          ? ""
          : fmt::format("<small class='lost'>diverged: seed {}</small>", fmt::join(cell.diverged, ", "));
  if (!cell.mean)
    return number_cell(lost.empty() ? "<small>not run</small>" : lost, std::nullopt, of_encoding(e));
  const std::string width =
      (cell.half_width
           ? fmt::format("<small>± {}</small>", score_text(*cell.half_width, dataset.metric.is_share()))
           : "") +
      (cell.seed_sd
           ? fmt::format("<small>SD {}</small>", score_text(*cell.seed_sd, dataset.metric.is_share()))
           : "");
  return number_cell(
      fmt::format("<b>{}</b> <i data-signs='{}'>{}</i>{}{}",
                  score_text(*cell.mean, dataset.metric.is_share()), all_signs(at.cells, at, cell.encoding),
                  sign_against(reference, at, cell.encoding), width, lost),
      cell.mean,
      fmt::format("{} class='heat{}' style='--h:{:.2f}' title='{}'", of_encoding(e),
                  is_best(dataset, at, cell) && at.learned ? " best" : "",
                  heat(*cell.mean, colour_range(dataset, at)), escape(hover(dataset, at, cell))));
}

std::string dataset_row(const Dataset& dataset, const AtLength& at, const std::string& reference) {
  std::string about = dataset.family;
  if (!dataset.metric.is_share()) about += (about.empty() ? "" : ", ") + metric_name(dataset.metric);
  if (dataset.metric.true_chance) about += fmt::format(", chance {:.0f}", 100 * *dataset.metric.true_chance);
  if (at.best_constant) about += fmt::format(", best constant {:.0f}", 100 * *at.best_constant);
  std::string row =
      fmt::format("<th scope='row' data-v='{0}'>{0}<small>{1}</small>{2}</th>", escape(dataset.name),
                  escape(about), at.learned ? "" : "<span class='badge undecided'>not learned</span>");
  for (size_t e = 0; e < at.cells.size(); ++e) row += cell_html(dataset, at, at.cells[e], e, reference);
  return fmt::format("<tr{}>{}</tr>", at.learned ? "" : " class='faint'", row);
}

std::string reference_choice(const Summary& summary) {
  std::string options;
  for (const std::string& encoding : summary.encodings)
    options += fmt::format("<option{}>{}</option>", encoding == summary.reference ? " selected" : "",
                           escape(encoding));
  return fmt::format("<select id='reference' aria-label='reference'>{}</select>", options);
}

}  // namespace

std::string matrix_section(const Summary& summary, const Gathered&) {
  std::string html = fmt::format(
      "<p>Scores: {}. Mean over seeds ± the half-width of its simultaneous 95 % interval, and the SD over "
      "seeds; the best "
      "of a row is underlined. "
      "Beside it, against {}: ▲ better, ▼ worse, = tied, ? undecided. "
      "Hover a cell for its seeds, the mean over tokens, exact match and more.</p>",
      escape(units_in_words(summary)), reference_choice(summary));
  for (size_t i = 0; i < summary.lengths.size(); ++i) {
    std::string head = heading_cell("dataset"), rows;
    for (size_t e = 0; e < summary.encodings.size(); ++e)
      head += heading_cell(escape(summary.encodings[e]), of_encoding(e));
    for (const Dataset& dataset : summary.datasets)
      if (const AtLength* at = dataset.at(summary.lengths[i]))
        rows += dataset_row(dataset, *at, summary.reference);
    html += per_length(summary, i, table(head, rows, "matrix"));
  }
  return html;
}

}  // namespace darope::report
