#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace darope::report {

// The position microscope: one HTML file that loads nothing. `data` has what it shows: title, encoding, note,
// length (L), tokens (labels), coordinates [layer][head][token], alpha [layer][head] or null, attended and
// shares [layer][head][token][k].
std::string microscope_page(const nlohmann::ordered_json& data);

}  // namespace darope::report
