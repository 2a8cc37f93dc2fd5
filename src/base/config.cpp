#include "base/config.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/names.h"

namespace darope {
namespace {

constexpr int64_t kMaxConfigBytes = 1 << 20;
constexpr size_t kMaxYamlDepth = 32;

bool is_null(const std::string& text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// Builds a Value from yaml-cpp's events, which carry the line of each thing and every duplicate key.
class ValueBuilder final : public YAML::EventHandler {
 public:
  explicit ValueBuilder(std::string where) : where_(std::move(where)) {}
  Value take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(at(mark, Value::Kind::kNull)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark.line + 1, "YAML aliases (*name) have no place in a config");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& text) override {
    Value value = at(mark, Value::Kind::kScalar);
    value.quoted = tag != "?";  // yaml-cpp tags a plain scalar "?"
    value.text = text;
    if (!value.quoted && is_null(text)) value.kind = Value::Kind::kNull;
    add(std::move(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(at(mark, Value::Kind::kList));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(at(mark, Value::Kind::kSection));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  static Value at(const YAML::Mark& mark, Value::Kind kind) {
    Value value;
    value.kind = kind;
    value.line = mark.line + 1;
    return value;
  }
  [[noreturn]] void fail(int line, const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", where_, line, what));
  }

  void open(Value value) {
    if (!stack_.empty() && expects_key(stack_.back()))
      fail(value.line, "a key must be a name, not " + describe(value));
    if (stack_.size() == kMaxYamlDepth)
      fail(value.line, fmt::format("nested more than {} deep", kMaxYamlDepth));
    stack_.push_back(std::move(value));
    names_.emplace_back();
  }
  void close() {
    Value done = std::move(stack_.back());
    stack_.pop_back();
    names_.pop_back();
    add(std::move(done));
  }
  static bool expects_key(const Value& parent) {
    return parent.kind == Value::Kind::kSection && parent.names.size() == parent.items.size();
  }
  void add(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Value& parent = stack_.back();
    if (!expects_key(parent)) {
      parent.items.push_back(std::move(value));
      return;
    }
    if (value.kind != Value::Kind::kScalar) fail(value.line, "a key must be a name, not " + describe(value));
    if (!names_.back().insert(value.text).second)
      fail(value.line, fmt::format("'{}' is set twice in one section", value.text));
    parent.names.push_back(value.text);
  }

  std::string where_;
  std::vector<Value> stack_;
  std::vector<std::set<std::string>> names_;  // of each that is open
  Value root_;
};

Value parse_yaml(std::string_view text, const std::string& where) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    ValueBuilder builder(where);
    Value value;
    if (parser.HandleNextDocument(builder)) value = builder.take();
    ValueBuilder rest(where);
    if (parser.HandleNextDocument(rest))
      throw Error(where + ": holds more than one YAML document; a config is one");
    return value;
  } catch (const YAML::Exception& e) {
    throw Error(fmt::format("{}:{}: not YAML: {}", where, e.mark.line + 1, e.msg));
  }
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// What may stand where the key stands: the settings and sections beside it, or all at the top.
std::string names_beside(const std::vector<Field>& fields, const std::string& key) {
  std::string section = key.substr(0, key.rfind('.') + 1);
  if (std::none_of(fields.begin(), fields.end(),
                   [&](const Field& field) { return field.key.starts_with(section); }))
    section.clear();
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (!field.key.starts_with(section)) continue;
    const size_t end = field.key.find('.', section.size());
    const std::string name = field.key.substr(0, end) + (end == std::string::npos ? "" : ".*");
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// Every setting, and every section that one stands in.
std::vector<std::string> known_keys(const std::vector<Field>& fields) {
  std::vector<std::string> out;
  for (const Field& field : fields) {
    out.push_back(field.key);
    for (size_t dot = field.key.find('.'); dot != std::string::npos; dot = field.key.find('.', dot + 1))
      out.push_back(field.key.substr(0, dot));
  }
  return out;
}

// Suggests the valid key a person most likely meant: `lr` finds `optim.lr` as surely as `optim.lrr` does.
std::string unknown_key(const std::vector<Field>& fields, const std::string& whole) {
  const std::string key =
      whole.substr(0, 100);  // the distance takes time with the length, and no setting is that long
  if (fields.empty()) return fmt::format("unknown setting '{}'; there are none", key);
  const auto cost = [&](const std::string& known) {
    return std::min(edit_distance(key, known), 1 + edit_distance(last_part(key), last_part(known)));
  };
  const std::vector<std::string> known = known_keys(fields);
  const std::string& nearest = *std::ranges::min_element(known, {}, cost);
  const std::string ours = last_part(key), theirs = last_part(nearest);
  const bool beside = key.size() - ours.size() == nearest.size() - theirs.size() &&
                      nearest.starts_with(key.substr(0, key.size() - ours.size()));
  const size_t slips =
      edit_distance(ours, theirs);  // a section in common excuses two, but is no likeness by itself
  const bool near =
      is_near(ours, theirs) || (beside ? slips <= 2 && slips < ours.size() : is_near(key, nearest));
  return near ? fmt::format("unknown setting '{}'; did you mean '{}'?", key, nearest)
              : fmt::format("unknown setting '{}'. Known: {}", key, names_beside(fields, key));
}

const Field* find(const std::vector<Field>& fields, const std::string& key) {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

bool is_section(const std::vector<Field>& fields, const std::string& key) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.key.starts_with(key + "."); });
}

void assign(const Field& field, const Value& value, const std::string& where) {
  try {
    field.read(value);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: '{}' {}", where, field.key, e.what()));
  }
}

void assign_section(const std::vector<Field>& fields, const std::string& prefix, const Value& section,
                    const std::string& file) {
  for (size_t i = 0; i < section.items.size(); ++i) {
    const Value& value = section.items[i];
    const std::string key = prefix + section.names[i], where = fmt::format("{}:{}", file, value.line);
    if (const Field* field = find(fields, key)) {
      assign(*field, value, where);
    } else if (!is_section(fields, key)) {
      throw Error(where + ": " + unknown_key(fields, key));
    } else if (value.kind == Value::Kind::kSection) {
      assign_section(fields, key + ".", value, file);
    } else if (value.kind != Value::Kind::kNull) {
      throw Error(fmt::format("{}: '{}' is a section of settings, not {}", where, key, describe(value)));
    }
  }
}

// The text of an override. A string is taken as typed; a list may leave out its brackets.
Value override_value(const Field& field, const std::string& text, const std::string& where) {
  if (field.string) {
    Value value;
    value.kind = field.optional && text == "null" ? Value::Kind::kNull : Value::Kind::kScalar;
    value.text = text;
    return value;
  }
  return parse_yaml(field.list && !text.starts_with('[') ? "[" + text + "]" : text, where);
}

// A word that no YAML reader takes for anything but a string may stand without quotes.
bool is_plain_word(std::string_view text) {
  static const std::set<std::string_view> kOther = {"true", "false", "null", "yes", "no",
                                                    "on",   "off",   "y",    "n"};
  std::string lower(text);
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '/' || c == '.';
  };
  return !lower.empty() && letter(lower[0]) && std::all_of(lower.begin(), lower.end(), inner) &&
         !kOther.count(lower);
}

std::string yaml_value(const Field& field) {
  std::string json = field.json();
  if (!json.starts_with('"')) return json;
  const std::string_view inside = std::string_view(json).substr(1, json.size() - 2);
  return is_plain_word(inside) ? std::string(inside) : json;
}

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  std::istringstream stream(key);
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

nlohmann::ordered_json schema_of(const Field& field) {
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(field.schema);
  out["description"] = field.help;
  out["default"] = nlohmann::ordered_json::parse(field.json());
  add_to_schema(out, field.allowed);
  return out;
}

}  // namespace

void read_yaml(const std::vector<Field>& fields, std::string_view text, const std::string& where) {
  if (int64_t(text.size()) > kMaxConfigBytes)
    throw Error(fmt::format("{}: larger than {} bytes, which no config is", where, kMaxConfigBytes));
  const Value root = parse_yaml(text, where);
  if (root.kind == Value::Kind::kNull) return;
  if (root.kind != Value::Kind::kSection)
    throw Error(
        fmt::format("{}:{}: a config is a list of `name: value`, not {}", where, root.line, describe(root)));
  assign_section(fields, "", root, where);
}

void read_config_file(const std::vector<Field>& fields, const std::filesystem::path& path) {
  read_yaml(fields, read_file(path, kMaxConfigBytes), path.string());
}

void read_overrides(const std::vector<Field>& fields, const std::vector<std::string>& arguments) {
  std::set<std::string> seen;
  for (const std::string& argument : arguments) {
    const std::string bare = argument.starts_with("--") ? argument.substr(2) : argument;
    const size_t equals = bare.find('=');
    const std::string key = bare.substr(0, equals),
                      where = fmt::format("'{}' on the command line", argument.substr(0, 100));
    const Field* field = find(fields, key);
    if (!field && is_section(fields, key))
      throw Error(fmt::format("{}: '{}' is a section; set one of its settings, as in {}.NAME=VALUE", where,
                              key, key));
    if (!field) throw Error(where + ": " + unknown_key(fields, key));
    if (equals == std::string::npos)
      throw Error(fmt::format("{}: '{}' needs a value, as in {}=VALUE", where, key, key));
    if (!seen.insert(key).second) throw Error(fmt::format("{}: '{}' is set twice", where, key));
    assign(*field, override_value(*field, bare.substr(equals + 1), where), where);
  }
}

std::string yaml_text(const std::vector<Field>& fields, Comments comments) {
  std::string text;
  std::vector<std::string> open;  // the sections the last line stood in
  for (const Field& field : fields) {
    std::vector<std::string> parts = parts_of(field.key);
    const std::string name = parts.back();
    parts.pop_back();
    const size_t shared =
        size_t(std::mismatch(open.begin(), open.end(), parts.begin(), parts.end()).first - open.begin());
    for (size_t i = shared; i < parts.size(); ++i) text += fmt::format("{:{}}{}:\n", "", 2 * i, parts[i]);
    if (comments == Comments::kMeanings)
      text += fmt::format("{:{}}# {} ({})\n", "", 2 * parts.size(), field.help,
                          in_words(field.type, field.allowed));
    text += fmt::format("{:{}}{}: {}\n", "", 2 * parts.size(), name, yaml_value(field));
    open = std::move(parts);
  }
  return text;
}

std::string help_text(const std::vector<Field>& fields) {
  size_t width = 0;
  for (const Field& field : fields) width = std::max(width, field.key.size() + 1 + yaml_value(field).size());
  width = std::min<size_t>(width, 48);
  std::string text;
  for (const Field& field : fields)
    text += fmt::format("  {:<{}}  {} ({})\n", field.key + "=" + yaml_value(field), width, field.help,
                        in_words(field.type, field.allowed));
  return text;
}

std::string markdown_text(const std::vector<Field>& fields) {
  std::string text = "| setting | default | meaning | type and range |\n|---|---|---|---|\n";
  for (const Field& field : fields)
    text += fmt::format("| `{}` | `{}` | {} | {} |\n", field.key, yaml_value(field), field.help,
                        in_words(field.type, field.allowed));
  return text;
}

std::string schema_text(const std::vector<Field>& fields) {
  const nlohmann::ordered_json section{
      {"type", "object"}, {"additionalProperties", false}, {"properties", nlohmann::ordered_json::object()}};
  nlohmann::ordered_json root = section;
  for (const Field& field : fields) {
    nlohmann::ordered_json* at = &root;
    std::vector<std::string> parts = parts_of(field.key);
    const std::string name = parts.back();
    parts.pop_back();
    for (const std::string& part : parts) {
      nlohmann::ordered_json& properties = (*at)["properties"];
      if (!properties.contains(part)) properties[part] = section;
      at = &properties[part];
    }
    (*at)["properties"][name] = schema_of(field);
  }
  nlohmann::ordered_json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                             {"title", "a config of darope"}};
  out.update(root);
  return out.dump(1) + "\n";
}

void check_values(const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    std::string json = field.json();
    for (char& c : json)
      if (static_cast<unsigned char>(c) > 0x7F)
        c = '?';  // paths need not be UTF-8, and no name has such bytes
    check_allowed(field.key, nlohmann::json::parse(json), field.allowed);
  }
}

std::string canonical_json(const std::vector<Field>& fields) {
  std::vector<std::string> entries;
  for (const Field& field : fields) entries.push_back("\"" + field.key + "\":" + field.json());
  std::sort(entries.begin(), entries.end());
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}

std::vector<Difference> differences(const std::vector<Field>& before, const std::vector<Field>& after) {
  std::vector<Difference> out;
  for (size_t i = 0; i < before.size(); ++i)
    if (before[i].json() != after[i].json())
      out.push_back({before[i].key, yaml_value(before[i]), yaml_value(after[i])});
  return out;
}

}  // namespace darope
