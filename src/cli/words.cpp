#include "cli/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/names.h"
#include "cli/compute.h"
#include "settings/compare.h"

namespace darope {
namespace {

bool has_option(const VerbTable& verb, const std::string& name) {
  return std::ranges::any_of(verb.options, [&](const OptionTable& each) {
    return std::ranges::find(each.names, name) != each.names.end();
  });
}

std::vector<std::string> options_of(const VerbTable& verb) {
  std::vector<std::string> out;
  for (const OptionTable& each : verb.options)
    for (const std::string& name : each.names)
      if (name.starts_with("--")) out.push_back(name);
  return out;
}

const VerbTable* find_verb(const std::vector<VerbTable>& verbs, const std::string& name) {
  const auto found = std::ranges::find(verbs, name, &VerbTable::name);
  return found == verbs.end() ? nullptr : &*found;
}

std::string nearest(const std::vector<std::string>& names, const std::string& typed) {
  const auto found = std::ranges::min_element(
      names, {}, [&](const std::string& each) { return edit_distance(typed, each); });
  return found != names.end() && is_near(typed, *found) ? *found : "";
}

// The settings that a word may stand for: by their whole name, or else by its last part.
std::vector<std::string> settings_named(const VerbTable& verb, const std::string& name) {
  std::vector<std::string> out;
  for (const Field& field : settings_of(verb)) {
    if (field.key == name) return {name};
    const bool of_one_run = verb.name == "compare" && field.key == "model.encoding";
    if (field.key.ends_with("." + name) && !of_one_run) out.push_back(field.key);
  }
  return out;
}

// "unknown option --seed of compare; did you mean --seeds 3, or the setting seed=3?"
[[noreturn]] void refuse_option(const VerbTable& program, const VerbTable& verb, const std::string& name,
                                const std::string& value) {
  std::vector<std::string> meant;
  if (const std::string near = nearest(options_of(verb), name); !near.empty())
    meant.push_back(value.empty() ? near : near + " " + value);
  for (const std::string& key : settings_named(verb, name.substr(2)))
    meant.push_back(fmt::format("the setting {}={}", key, value.empty() ? "VALUE" : value));
  std::string text = fmt::format("unknown option {} of {}", shown(name), verb.name);
  if (!meant.empty()) throw Error(fmt::format("{}; did you mean {}?", text, fmt::join(meant, ", or ")));
  for (const VerbTable& other : program.verbs)
    if (has_option(other, name)) text += fmt::format("; it is one of '{}'", other.name);
  throw Error(fmt::format("{}. Known: {}{}", text, fmt::join(options_of(verb), ", "),
                          verb.settings ? ", and settings as a.b=c ('darope settings')" : ""));
}

}  // namespace

std::vector<Field> settings_of(const VerbTable& verb) {
  static CompareConfig comparison;
  static RunConfig run;
  if (!verb.settings) return {};
  return with_names(verb.name == "compare" ? list_fields(comparison) : list_fields(run));
}

void check_words(const VerbTable& program, const std::vector<std::string>& words) {
  const VerbTable* verb = &program;
  size_t i = 0;
  for (; i < words.size() && !verb->verbs.empty() && !words[i].starts_with('-'); ++i) {
    const VerbTable* next = find_verb(verb->verbs, words[i]);
    if (!next) {
      std::vector<std::string> known;
      for (const VerbTable& each : verb->verbs) known.push_back(each.name);
      throw Error(unknown_name("verb", words[i], known));
    }
    verb = next;
  }
  for (; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (has_option(*verb, name)) continue;
    if (verb == &program) throw Error(unknown_name("option", name, options_of(program)));
    const std::vector<std::string> settings = settings_named(*verb, name.substr(2));
    if (equals != std::string::npos && settings == std::vector{name.substr(2)}) continue;  // --a.b=c
    const bool valued = i + 1 < words.size() && !words[i + 1].starts_with("--");
    refuse_option(program, *verb, name,
                  equals != std::string::npos ? words[i].substr(equals + 1)
                  : valued                    ? words[i + 1]
                                              : "");
  }
}

}  // namespace darope
