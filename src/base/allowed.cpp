#include "base/allowed.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/names.h"

namespace darope {
namespace {

std::string text_of(double bound) { return fmt::format("{:.15g}", bound); }

// "from 1 to 1000", "at least 0 and below 1"; "" where every number may stand.
std::string range_of(const Allowed& allowed) {
  const auto& [least, most, above, below, names, empty, pattern, or_else] = allowed;
  if (least && most) return fmt::format("from {} to {}", text_of(*least), text_of(*most));
  std::vector<std::string> ends;
  if (least) ends.push_back("at least " + text_of(*least));
  if (above) ends.push_back("above " + text_of(*above));
  if (most) ends.push_back("at most " + text_of(*most));
  if (below) ends.push_back("below " + text_of(*below));
  return fmt::format("{}", fmt::join(ends, " and "));
}

bool is_inside(double value, const Allowed& allowed) {
  return !(allowed.least && value < *allowed.least) && !(allowed.most && value > *allowed.most) &&
         !(allowed.above && value <= *allowed.above) && !(allowed.below && value >= *allowed.below);
}

bool is_named(const std::string& value, const Allowed& allowed) {
  return (allowed.empty && value.empty()) || std::ranges::find(allowed.names, value) != allowed.names.end() ||
         (!allowed.pattern.empty() && std::regex_match(value, std::regex(allowed.pattern)));
}

void check_one(const std::string& key, const nlohmann::json& value, const Allowed& allowed, bool entry) {
  if (value.is_string() && !allowed.names.empty() && !is_named(value, allowed)) {
    std::vector<std::string> known = allowed.names;
    if (!allowed.or_else.empty()) known.push_back(allowed.or_else);
    throw Error(unknown_name(entry ? "name in " + key : key, value.get<std::string>(), known));
  }
  if (value.is_number() && !is_inside(value, allowed))
    throw Error(fmt::format("{} {} {}: {} must be {}", key, entry ? "has" : "is",
                            value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump(),
                            entry ? "each" : "it", range_of(allowed)));
}

}  // namespace

void check_allowed(const std::string& key, const nlohmann::json& value, const Allowed& allowed) {
  if (!value.is_array()) return check_one(key, value, allowed, false);
  for (const nlohmann::json& each : value) check_one(key, each, allowed, true);
}

std::string in_words(const std::string& type, const Allowed& allowed) {
  std::string text = type;
  if (!allowed.names.empty()) {
    const std::string_view plain = "a string";
    const std::string choice =
        fmt::format("{}one of {}{}{}", allowed.empty ? "empty or " : "", fmt::join(allowed.names, ", "),
                    allowed.or_else.empty() ? "" : ", or ", allowed.or_else);
    text.replace(text.find(plain), plain.size(), choice);
  }
  const std::string range = range_of(allowed);
  return range.empty() ? text : text + ", " + range;
}

void add_to_schema(nlohmann::ordered_json& schema, const Allowed& allowed) {
  nlohmann::ordered_json& one = schema.contains("items") ? schema["items"] : schema;
  if (allowed.least) one["minimum"] = *allowed.least;
  if (allowed.above) one["exclusiveMinimum"] = *allowed.above;
  if (allowed.most) one["maximum"] = *allowed.most;
  if (allowed.below) one["exclusiveMaximum"] = *allowed.below;
  if (allowed.names.empty()) return;
  std::vector<std::string> names = allowed.names;
  if (allowed.empty) names.emplace_back();
  if (allowed.pattern.empty())
    one["enum"] = names;
  else
    one["anyOf"] = {{{"enum", names}}, {{"pattern", "^(" + allowed.pattern + ")$"}}};
}

}  // namespace darope
