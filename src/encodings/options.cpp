#include "encodings/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/error.h"
#include "base/names.h"

namespace darope {
namespace {

template <class Number>
std::optional<Number> parse_number(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

Options Options::parse(std::string_view text, std::string& name) {
  const size_t colon = text.find(':');
  name = text.substr(0, colon);
  Options options;
  if (colon == std::string_view::npos) return options;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size())
      throw Error(shown(text) + ": after the colon come options as option=value, separated by commas; got " +
                  shown(item));
    options.set(std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)));
    if (comma == std::string_view::npos) return options;
    rest = rest.substr(comma + 1);
  }
}

void Options::set(const std::string& option, const std::string& value) {
  const auto [it, fresh] = given_.emplace(option, value);
  if (!fresh && it->second != value)
    throw Error("option '" + option + "' is given twice, as " + it->second + " and as " + value);
}

const std::string* Options::find(const std::string& option, const std::string& values) {
  if (std::ranges::find(known_, option, &Known::name) == known_.end()) known_.push_back({option, values});
  const auto it = given_.find(option);
  return it == given_.end() ? nullptr : &it->second;
}

double Options::number(const std::string& option, double otherwise) {
  const std::string* text = find(option, number_text(otherwise));
  if (!text) return otherwise;
  const auto value = parse_number<double>(*text);
  if (!value)
    throw Error("option '" + option + "' must be a number that a double can hold; got " + shown(*text));
  return *value;
}

std::optional<int64_t> Options::integer(const std::string& option) {
  const std::string* text = find(option, "");
  if (!text) return std::nullopt;
  const auto value = parse_number<int64_t>(*text);
  if (!value) throw Error("option '" + option + "' must be a whole number; got " + shown(*text));
  return *value;
}

std::string Options::choice(const std::string& option, const std::vector<std::string>& allowed) {
  std::string values = allowed.front();
  for (size_t i = 1; i < allowed.size(); ++i) values += "|" + allowed[i];
  const std::string* text = find(option, values);
  if (!text) return allowed.front();
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end())
    throw Error(unknown_name("value of option '" + option + "':", *text, allowed));
  return *text;
}

void Options::finish(std::string_view encoding) const {
  std::vector<std::string> names;
  for (const Known& each : known_) names.push_back(each.name);
  for (const auto& [option, value] : given_)
    if (std::ranges::find(names, option) == names.end())
      throw Error(unknown_name("option of " + std::string(encoding), option, names));
}

std::map<std::string, std::string> Options::read() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, values] : known_) {
    const auto given = given_.find(name);
    const std::string text = given == given_.end() ? values.substr(0, values.find('|')) : given->second;
    const auto number = parse_number<double>(text);
    if (!text.empty()) out[name] = number ? number_text(*number) : text;
  }
  return out;
}

}  // namespace darope
