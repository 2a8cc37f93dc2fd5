#include <fmt/format.h>

#include <algorithm>

#include "report/sections/sections.h"

namespace darope::report {
namespace {

// Shapes in the order of the script's point styles, drawn around (13, 6).
constexpr const char* kMarkers[] = {
    "<circle cx='13' cy='6' r='3.5'/>",
    "<path d='M13 2l4 7h-8z'/>",
    "<rect x='10' y='3' width='6' height='6'/>",
    "<path d='M13 1.5l4.5 4.5-4.5 4.5-4.5-4.5z'/>",
    "<path class='open' d='M10 3l6 6M16 3l-6 6'/>",
    "<path class='open' d='M13 2v8M9 6h8'/>",
    "<path class='open' d='M13 2v8M9.5 4l7 4M16.5 4l-7 4'/>",
    "<circle class='hollow' cx='13' cy='6' r='3.5'/>",
};
constexpr const char* kDashes[] = {"", "6 3", "2 2", "8 2 2 2"};
constexpr size_t kColours = 8;

}  // namespace

std::string table(const std::string& head, const std::string& rows, const std::string& classes,
                  const std::string& attributes) {
  return fmt::format(
      "<div class='scroll'><table class='sortable {}' "
      "{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
      classes, attributes, head, rows);
}

std::string chart(const std::string& kind, size_t index, const std::string& text) {
  return fmt::format(
      "<figure><figcaption>{0}</figcaption><div class='canvas'>"
      "<canvas data-chart='{1}' data-index='{2}' role='img' aria-label='{1} on {0}'></canvas></div></figure>",
      escape(text), kind, index);
}

std::string heading_cell(const std::string& html, const std::string& attributes) {
  return fmt::format("<th scope='col' {}><button type='button'>{}</button></th>", attributes, html);
}

std::string number_cell(const std::string& html, const std::optional<double>& sort_by,
                        const std::string& attributes) {
  return fmt::format("<td data-v='{}' {}>{}</td>", sort_by ? fmt::format("{:.8g}", *sort_by) : "", attributes,
                     html);
}

std::string swatch(size_t encoding) {
  const size_t colour = encoding % kColours;
  return fmt::format(
      "<svg class='swatch' style='--c:var(--s{})' width='26' height='12' aria-hidden='true'>"
      "<path class='open' stroke-dasharray='{}' d='M1 6h24'/>{}</svg>",
      colour, kDashes[encoding % std::size(kDashes)], kMarkers[colour]);
}

std::string encoding_cell(const Summary& summary, size_t encoding) {
  const std::string& name = summary.encodings[encoding];
  return fmt::format("<th scope='row' data-v='{0}'>{1}{0}{2}</th>", escape(name), swatch(encoding),
                     name == summary.reference ? "<small> reference</small>" : "");
}

std::string per_length(const Summary& summary, size_t length, const std::string& html) {
  const double x = summary.lengths[length];
  const std::string caption = summary.lengths.size() == 1 ? ""
                                                          : fmt::format("<p class='caption'>{}: {}</p>",
                                                                        length_name(x), at_length(x));
  return fmt::format("<div class='block' data-x='{}'>{}{}</div>", length, caption, html);
}

std::string of_encoding(size_t encoding) { return fmt::format("data-e='{}'", encoding); }

size_t index_of(const Summary& summary, const std::string& encoding) {
  return size_t(std::find(summary.encodings.begin(), summary.encodings.end(), encoding) -
                summary.encodings.begin());
}

std::string outcome_badge(stats::Outcome outcome) {
  const char* sign = "?";
  if (outcome == stats::Outcome::better) sign = "▲";
  if (outcome == stats::Outcome::worse) sign = "▼";
  if (outcome == stats::Outcome::tied) sign = "=";
  return fmt::format("<span class='badge {0}'>{1} {0}</span>", stats::name_of(outcome), sign);
}

std::string sign_against_reference(const AtLength& at, const std::string& encoding) {
  if (!at.learned) return "";
  for (const stats::Comparison& c : at.comparisons) {
    if (c.second != encoding) continue;
    switch (c.outcome) {  // seen from the baseline
      case stats::Outcome::better:
        return "▼";
      case stats::Outcome::worse:
        return "▲";
      case stats::Outcome::tied:
        return "=";
      case stats::Outcome::undecided:
        return "?";
    }
  }
  return "";
}

std::string with_spread(const std::optional<double>& mean, const std::optional<double>& spread,
                        bool higher_better) {
  return score_text(mean, higher_better) +
         (mean && spread ? fmt::format(" <small>± {}</small>", score_text(*spread, higher_better)) : "");
}

}  // namespace darope::report
