#pragma once
#include <nlohmann/json.hpp>

#include "report/summary.h"
#include "report/text.h"

namespace darope::report {

// One function per section of the page, each in the file of its name; an empty text leaves the section out.
std::string page_header(const Summary& summary, const Gathered& all);  // what was run, in a few lines
std::string verdict_section(const Summary& summary, const Gathered& all);
std::string rounds_section(const Summary& summary, const Gathered& all);
std::string power_section(const Summary& summary, const Gathered& all);
std::string ranking_section(const Summary& summary, const Gathered& all);
std::string matrix_section(const Summary& summary, const Gathered& all);
std::string losses_section(const Summary& summary, const Gathered& all);
std::string lengths_section(const Summary& summary, const Gathered& all);
std::string evaluations_section(const Summary& summary, const Gathered& all);
std::string curves_section(const Summary& summary, const Gathered& all);
std::string cost_section(const Summary& summary, const Gathered& all);
std::string paper_section(const Summary& summary, const Gathered& all);
std::string provenance_section(const Summary& summary, const Gathered& all);

// What the charts draw, read by the page's script.
nlohmann::ordered_json lengths_data(const Summary& summary);
nlohmann::ordered_json curves_data(const Summary& summary, const Gathered& all);

// Pieces that sections share. `html` is finished HTML, `text` is escaped here.
std::string table(const std::string& head, const std::string& rows, const std::string& classes = "",
                  const std::string& attributes = "");
std::string chart(const std::string& kind, size_t index,
                  const std::string& text);  // `index` into the kind's data
std::string heading_cell(const std::string& html, const std::string& attributes = "");  // click to sort
std::string number_cell(const std::string& html, const std::optional<double>& sort_by,
                        const std::string& attributes = "");
std::string encoding_cell(const Summary& summary, size_t encoding);
std::string per_length(const Summary& summary, size_t length,
                       const std::string& html);  // shown when its length is chosen
std::string of_encoding(size_t encoding);         // attribute: hidden with its series
size_t index_of(const Summary& summary, const std::string& encoding);
const char* sign_of(stats::Verdict verdict);  // ▲ better, ▼ worse, = tied, ? undecided
std::string verdict_badge(stats::Verdict verdict);
// The sign of an encoding against another one; "" if they are not compared or nobody learned the dataset.
std::string sign_against(const std::string& reference, const AtLength& at, const std::string& encoding);
std::string with_spread(const std::optional<double>& mean, const std::optional<double>& spread,
                        bool higher_better);

}  // namespace darope::report
