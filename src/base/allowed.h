#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace darope {

// What may stand in a setting beyond its type, or in each entry of a list: {.least = 1}, {.above = 0, .below
// = 1}, {.names = {"fp32", "bf16"}}. Beside the names may stand what a regular expression, `pattern`, says,
// and `or_else` in words.
struct Allowed {
  std::optional<double> least = {}, most = {};   // which may be reached
  std::optional<double> above = {}, below = {};  // which may not
  std::vector<std::string> names = {};
  bool empty = false;  // none of the names may stand
  std::string pattern = {}, or_else = {};
};

// An Error that names the key where a value, a name or each entry of a list is not allowed; null is.
void check_allowed(const std::string& key, const nlohmann::json& value, const Allowed& allowed);

// "an integer, at least 1"; "one of fp32, bf16" in place of "a string".
std::string in_words(const std::string& type, const Allowed& allowed);

// The schema of a type with what is allowed added.
void add_to_schema(nlohmann::ordered_json& schema, const Allowed& allowed);

}  // namespace darope
