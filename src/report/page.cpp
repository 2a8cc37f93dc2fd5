#include "report/page.h"

#include <fmt/format.h>

#include "assets.h"
#include "report/document.h"
#include "report/sections/sections.h"
#include "report/style.h"

namespace darope::report {
namespace {

struct Section {
  const char *id, *title;
  std::string (*render)(const Summary&, const Gathered&);
};
constexpr Section kSections[] = {
    {"verdict", "Verdict", verdict_section},
    {"rounds", "Rounds of seeds", rounds_section},
    {"ranking", "Ranking", ranking_section},
    {"matrix", "Dataset by dataset", matrix_section},
    {"losses", "Test loss", losses_section},
    {"lengths", "Score by length", lengths_section},
    {"evaluations", "Further evaluations", evaluations_section},
    {"curves", "Training curves", curves_section},
    {"power", "What these runs could see", power_section},
    {"cost", "Cost", cost_section},
    {"paper", "Beside the paper", paper_section},
    {"provenance", "What was run", provenance_section},
};

std::string toolbar(const Summary& summary) {
  std::string html = "<nav class='bar' aria-label='what is shown'>";
  if (summary.lengths.size() > 1) {
    html += "<div class='group lengths' role='group' aria-label='length or place of the test'>";
    for (size_t i = 0; i < summary.lengths.size(); ++i)
      html += fmt::format("<button type='button' data-length='{}' aria-pressed='{}'>{}</button>", i, i == 0,
                          escape(place_name(summary.axis(), summary.lengths[i])));
    html += "</div>";
  }
  html += "<div class='group encodings' role='group' aria-label='encodings'>";
  for (size_t e = 0; e < summary.encodings.size(); ++e)
    html += fmt::format("<button type='button' data-toggle='{}' aria-pressed='true'>{}{}</button>", e,
                        swatch(summary.encodings[e]), escape(summary.encodings[e]));
  return html + "</div></nav>";
}

}  // namespace

std::string render_page(const Summary& summary, const Gathered& all) {
  nlohmann::ordered_json styles = nlohmann::ordered_json::array();
  for (const std::string& encoding : summary.encodings) {
    const Style style = style_of(encoding);
    styles.push_back({{"colour", style.colour}, {"marker", style.marker}});
  }
  const nlohmann::ordered_json data{{"encodings", summary.encodings},
                                    {"styles", styles},
                                    {"reference", index_of(summary, summary.reference)},
                                    {"lengths", lengths_data(summary)},
                                    {"curves", curves_data(summary, all)}};
  std::string body = "<header><h1>Which positional encoding?</h1>" + page_header(summary, all) +
                     "</header>\n" + toolbar(summary) + "\n<main>";
  for (const Section& section : kSections)
    if (const std::string html = section.render(summary, all); !html.empty())
      body += fmt::format("\n<section id='{}'><h2>{}</h2>{}</section>", section.id, section.title, html);
  return to_html({.title = "Which positional encoding?",
                  .styles = {assets::page_css, assets::picture_css},
                  .body = body + "</main>\n",
                  .data = data,
                  .scripts = {assets::chart_js, assets::page_js}});
}

}  // namespace darope::report
