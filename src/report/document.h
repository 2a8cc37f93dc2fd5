#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace darope::report {

// A page in one file, which loads nothing and runs no scripts but its own: browsers are told their hashes.
struct Document {
  std::string_view title;
  std::vector<std::string_view> styles;
  std::string body;
  nlohmann::ordered_json data;  // what the scripts find in the element with this id
  std::vector<std::string_view> scripts;
};

std::string to_html(const Document& document);

}  // namespace darope::report
