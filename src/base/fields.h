#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/allowed.h"
#include "base/error.h"

namespace darope {

// A config is a plain struct with defaults and one function that names each member once:
//
//   struct OptimConfig {
//     double lr = 3e-3;
//     std::optional<double> clip;
//     void fields(auto&& visit) {
//       visit("lr", lr, "peak learning rate");
//       visit("clip", clip, "largest gradient norm; null leaves gradients alone");
//     }
//   };
//
// YAML in and out, overrides, help, hashing and comparing (config.h) all walk that one listing.
// A member is an int64_t, double, bool, std::string, a std::vector or std::optional of these, or another
// config. A fourth argument says what may stand there: {.least = 1} (allowed.h).
template <class T>
concept Config = requires(T t) { t.fields([](std::string_view, auto&, std::string_view, Allowed = {}) {}); };

// What stood in the YAML: text that has no type until a field gives it one.
struct Value {
  enum class Kind { kNull, kScalar, kList, kSection };
  Kind kind = Kind::kNull;
  std::string text;                // of a scalar
  bool quoted = false;             // "5" is no integer
  std::vector<std::string> names;  // of a section, beside items
  std::vector<Value> items;
  int line = 0;  // counted from 1; 0 on the command line
};

// How a value looks to the person who wrote it, for messages.
inline std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kScalar:
      return (value.quoted ? "the string '" : "'") + value.text.substr(0, 60) + "'";
    case Value::Kind::kList:
      return "a list";
    default:
      return "a section";
  }
}

[[noreturn]] inline void wrong_type(const Value& value, const std::string& wanted) {
  throw Error("should be " + wanted + ", not " + describe(value));
}

// One of these per type: its name for people, its value from YAML, its value as JSON (which is YAML too).
template <class T>
struct FieldType;

template <>
struct FieldType<std::string> {
  static std::string name() { return "a string"; }
  static std::string schema() { return R"({"type": "string"})"; }
  static void read(const Value& value, std::string& out) {
    if (value.kind != Value::Kind::kScalar) wrong_type(value, name());
    out = value.text;
  }
  static std::string json(const std::string& text) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\')
        out += {'\\', c};
      else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
        out += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
      else
        out += c;
    }
    return out + '"';
  }
};

template <>
struct FieldType<bool> {
  static std::string name() { return "true or false"; }
  static std::string schema() { return R"({"type": "boolean"})"; }
  static void read(const Value& value, bool& out) {
    const bool yes = value.text == "true" || value.text == "True",
               no = value.text == "false" || value.text == "False";
    if (value.kind != Value::Kind::kScalar || value.quoted || (!yes && !no)) wrong_type(value, name());
    out = yes;
  }
  static std::string json(bool value) { return value ? "true" : "false"; }
};

template <class T>
  requires(std::is_same_v<T, int64_t> || std::is_same_v<T, double>)
struct FieldType<T> {
  static std::string name() { return std::is_same_v<T, double> ? "a finite number" : "an integer"; }
  static std::string schema() {
    return std::is_same_v<T, double> ? R"({"type": "number"})" : R"({"type": "integer"})";
  }
  static void read(const Value& value, T& out) {
    const char* first = value.text.data();
    const char* last = first + value.text.size();
    if (first != last && *first == '+') ++first;
    T number{};
    const auto [end, problem] = std::from_chars(first, last, number);
    const bool whole = value.kind == Value::Kind::kScalar && !value.quoted && first != last && end == last;
    if (!whole || problem != std::errc() || !std::isfinite(double(number))) wrong_type(value, name());
    out = number;
  }
  // The shortest text that reads back to the same bits. Doubles keep a point, so that every YAML reader sees
  // a float.
  static std::string json(T value) {
    char buffer[40];
    std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
    if (std::is_same_v<T, double> && text.find('.') == std::string::npos) {
      const size_t exponent = text.find('e');
      text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
    }
    return text;
  }
};

template <class T>
struct FieldType<std::vector<T>> {
  static std::string name() { return "a list, each entry " + FieldType<T>::name(); }
  static std::string schema() { return R"({"type": "array", "items": )" + FieldType<T>::schema() + "}"; }
  static void read(const Value& value, std::vector<T>& out) {
    if (value.kind != Value::Kind::kList) wrong_type(value, name());
    out.clear();
    for (const Value& item : value.items) {
      T entry{};
      FieldType<T>::read(item, entry);
      out.push_back(std::move(entry));
    }
  }
  static std::string json(const std::vector<T>& list) {
    std::string text = "[";
    for (size_t i = 0; i < list.size(); ++i) text += (i ? ", " : "") + FieldType<T>::json(list[i]);
    return text + "]";
  }
};

template <class T>
struct FieldType<std::optional<T>> {
  static std::string name() {
    std::string type = FieldType<T>::name();
    return type.append(" or null");
  }
  static std::string schema() {
    return R"({"anyOf": [)" + FieldType<T>::schema() + R"(, {"type": "null"}]})";
  }
  static void read(const Value& value, std::optional<T>& out) {
    if (value.kind == Value::Kind::kNull) return out.reset();
    try {
      FieldType<T>::read(value, out.emplace());
    } catch (const Error&) {
      wrong_type(value, name());
    }
  }
  static std::string json(const std::optional<T>& value) {
    return value ? FieldType<T>::json(*value) : "null";
  }
};

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;
template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;
template <class T>
constexpr bool is_string = std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>;

// One setting with its type erased; it points into the config it was listed from.
struct Field {
  std::string key;                 // "optim.lr"
  std::string help, type, schema;  // in words, in words, as JSON
  Allowed allowed;
  bool string, optional, list;  // how the command line reads its text
  std::function<void(const Value&)> read;
  std::function<std::string()> json;
};

template <Config T>
void list_fields(T& config, const std::string& prefix, std::vector<Field>& out) {
  config.fields([&](std::string_view name, auto& member, std::string_view help, Allowed allowed = {}) {
    using Member = std::remove_reference_t<decltype(member)>;
    const std::string key = prefix + std::string(name);
    if constexpr (Config<Member>)
      list_fields(member, key + ".", out);
    else
      out.push_back({key, std::string(help), FieldType<Member>::name(), FieldType<Member>::schema(), allowed,
                     is_string<Member>, is_optional<Member>, is_list<Member>,
                     [&member](const Value& value) { FieldType<Member>::read(value, member); },
                     [&member] { return FieldType<Member>::json(member); }});
  });
}

template <Config T>
std::vector<Field> list_fields(T& config, const std::string& prefix = "") {
  std::vector<Field> out;
  list_fields(config, prefix, out);
  return out;
}

}  // namespace darope
