#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace darope::report {

// JSON inside a script element: nothing in it may end the element or open a comment.
inline std::string script_safe(const nlohmann::ordered_json& json) {
  std::string safe;
  for (const char c : json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace))
    safe += c == '<' ? "\\u003c" : std::string(1, c);
  return safe;
}

}  // namespace darope::report
