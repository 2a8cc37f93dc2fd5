#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace darope {

// A double beyond the integers is no integer, and neither is one of the upper half of uint64.
template <class T>
bool fits(const Json& value) {
  if constexpr (std::is_same_v<T, int64_t>)
    return value.is_number_integer() && (!value.is_number_unsigned() || value <= uint64_t(INT64_MAX));
  else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
    return value.is_array() && std::all_of(value.begin(), value.end(), fits<int64_t>);
  return true;
}

// Facts out of JSON that somebody else may have written: each is there and of its type, or an Error says
// where it is not.
template <class T>
T need(const Json& object, const char* key, const std::string& where) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end())
    throw Error(fmt::format("{}: '{}' is missing", where, key));
  try {
    if (fits<T>(*found)) return found->get<T>();
  } catch (const Json::exception&) {  // said below
  }
  throw Error(fmt::format("{}: '{}' is {}, which does not fit", where, key, found->dump().substr(0, 80)));
}

template <class T>
T get_or(const Json& object, const char* key, T fallback, const std::string& where) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::move(fallback) : need<T>(object, key, where);
}

// Names and sentences of a run: a report says them thousands of times over, and a few kilobytes of a stranger
// must not make gigabytes.
inline constexpr size_t kLongestName = 256, kLongestText = 1024;
inline std::string no_longer(std::string text, size_t most, const char* key, const std::string& where) {
  if (text.size() > most)
    throw Error(
        fmt::format("{}: '{}' has {} bytes, more than the {} it may have", where, key, text.size(), most));
  return text;
}
inline std::string need_name(const Json& object, const char* key, const std::string& where) {
  return no_longer(need<std::string>(object, key, where), kLongestName, key, where);
}
inline std::string name_or_none(const Json& object, const char* key, const std::string& where) {
  return no_longer(get_or<std::string>(object, key, "", where), kLongestName, key, where);
}

inline std::optional<double> optional_number(const Json& object, const char* key, const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return need<double>(object, key, where);
}

// Calls use(object, where) for every line. A last line without its end is still being written, and is left
// alone.
template <class Use>
void each_line(std::string_view text, const std::string& file, const Use& use) {
  size_t number = 0;
  for (size_t start = 0, end; (end = text.find('\n', start)) != std::string_view::npos; start = end + 1) {
    ++number;
    if (end == start) continue;
    const std::string where = fmt::format("{} line {}", file, number);
    use(parse_json(text.substr(start, end - start), where), where);
  }
}

}  // namespace darope
