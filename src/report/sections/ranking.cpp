#include <fmt/format.h>

#include "report/paper.h"
#include "report/sections/sections.h"
#include "report/words.h"

namespace darope::report {
namespace {

std::vector<const Aggregate*> aggregates_at(const Summary& summary, double x) {
  std::vector<const Aggregate*> found;
  for (const Aggregate& each : summary.aggregates)
    if (each.x == x && (each.over == "all" || summary.datasets.size() > 1)) found.push_back(&each);
  return found;
}

const Ranking* ranking_at(const Summary& summary, double x) {
  for (const Ranking& each : summary.rankings)
    if (each.x == x) return &each;
  return nullptr;
}

std::string heading(const Summary& summary, double x) {
  std::string row = heading_cell("encoding") + heading_cell("mean rank");
  for (const Aggregate* each : aggregates_at(summary, x)) {
    const std::string count = fmt::format(" <small>({})</small>", each->datasets.size());
    row += heading_cell(escape(each->over) + count);
    if (each->over == "all") row += heading_cell("all, the paper's chance" + count);
  }
  return row;
}

std::string body_row(const Summary& summary, double x, size_t e) {
  std::string row = encoding_cell(summary, e);
  const stats::MeanRank& rank = ranking_at(summary, x)->ranks[e];
  row += number_cell(
      fmt::format("{:.2f}", rank.mean) +
          (rank.standard_error ? fmt::format(" <small>± {:.2f}</small>", *rank.standard_error) : ""),
      rank.mean);
  for (const Aggregate* each : aggregates_at(summary, x)) {
    const Aggregate::Row& own = each->rows[e];
    row += number_cell(with_spread(own.normalised_true, own.normalised_true_sd, true), own.normalised_true);
    if (each->over == "all")
      row += number_cell(with_spread(own.normalised, own.normalised_sd, true), own.normalised);
  }
  return fmt::format("<tr {}>{}</tr>", of_encoding(e), row);
}

// What needs no learning, on the same scale.
std::string constant_row(const Summary& summary, double x) {
  std::string row;
  bool any = false;
  for (const Aggregate* each : aggregates_at(summary, x)) {
    row += number_cell(score_text(each->constant_true, true), each->constant_true);
    if (each->over == "all") row += number_cell(score_text(each->constant, true), each->constant);
    any |= each->constant_true.has_value();
  }
  return any ? "<tr><th scope='row'>best constant answer</th><td></td>" + row + "</tr>" : "";
}

std::string gap_table(const Summary& summary, double x) {
  std::string rows;
  for (const Gap& gap : summary.gaps)
    if (gap.x == x) {
      const size_t e = index_of(summary, gap.encoding);
      rows += fmt::format("<tr {}>{}{}</tr>", of_encoding(e), encoding_cell(summary, e),
                          number_cell(with_spread(gap.gap, gap.seed_sd, true), gap.gap));
    }
  if (rows.empty()) return "";
  const Json& control = paper().at("control");
  return fmt::format(
             "<h3>Control: {} minus {}</h3><p class='fine'>{} Points of accuracy ± spread over seeds.</p>",
             control.at("hard").get<std::string>(), control.at("easy").get<std::string>(),
             control.at("says").get<std::string>()) +
         table(heading_cell("encoding") + heading_cell("gap"), rows);
}

}  // namespace

std::string ranking_section(const Summary& summary, const Gathered&) {
  std::string html = fmt::format(
      "<p>Mean rank over {}datasets that have every encoding (1 is best) ± its standard error across them. ",
      has_accuracies(summary) ? "learned " : "");
  if (!summary.aggregates.empty())
    html +=
        "Then chance-normalised accuracy in % (0 is guessing, 100 is perfect): a plain mean over as many "
        "datasets as stand in brackets, "
        "learned or not, ± the spread that seeds give it; one column has the chances the paper prints, some "
        "of them below guessing. ";
  html += "Click a heading to sort.</p>";
  for (size_t i = 0; i < summary.lengths.size(); ++i) {
    if (!ranking_at(summary, summary.lengths[i])) {
      html += per_length(
          summary, i,
          "<p>No dataset was run with every encoding and learned, so there is nothing to rank.</p>");
      continue;
    }
    std::string rows;
    for (size_t e = 0; e < summary.encodings.size(); ++e) rows += body_row(summary, summary.lengths[i], e);
    rows += constant_row(summary, summary.lengths[i]);
    html += per_length(summary, i,
                       table(heading(summary, summary.lengths[i]), rows, "means", "data-sort='1'") +
                           gap_table(summary, summary.lengths[i]));
  }
  return html;
}

}  // namespace darope::report
