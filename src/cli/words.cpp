#include "cli/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "base/names.h"
#include "cli/compute.h"
#include "settings/compare.h"

namespace darope {
namespace {

const OptionTable* find_option(const VerbTable& verb, const std::string& name) {
  const auto found = std::ranges::find_if(verb.options, [&](const OptionTable& each) {
    return std::ranges::find(each.names, name) != each.names.end();
  });
  return found == verb.options.end() ? nullptr : &*found;
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

// What a word is near to, and how many slips away; nothing where it is near to none.
struct Near {
  std::string name;
  size_t slips = SIZE_MAX;
};
Near nearest(const std::vector<std::string>& names, const std::string& typed) {
  if (names.empty()) return {};
  const std::string& found = nearest_name(typed, names);
  return is_near(typed, found) ? Near{found, edit_distance(typed, found)} : Near{};
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

Near nearest_setting(const VerbTable& verb, const std::string& typed) {
  std::vector<std::string> names;
  for (const Field& field : settings_of(verb)) names.push_back(field.key.substr(field.key.rfind('.') + 1));
  return nearest(names, typed);
}

// "unknown option --seed of compare; did you mean --seeds 3, or the setting seed=3?"
[[noreturn]] void refuse_option(const VerbTable& program, const VerbTable& verb, const std::string& name,
                                const std::string& value) {
  const std::string bare = name.substr(name.find_first_not_of('-'));
  const Near option = nearest(options_of(verb), "--" + bare);
  std::vector<std::string> settings = settings_named(verb, bare), meant;
  const Near setting = settings.empty() ? nearest_setting(verb, bare) : Near{};
  if (setting.slips <= option.slips && !setting.name.empty()) settings = settings_named(verb, setting.name);
  if (!option.name.empty() && option.slips <= setting.slips)
    meant.push_back(value.empty() ? option.name : option.name + " " + value);
  for (const std::string& key : settings)
    meant.push_back(fmt::format("the setting {}={}", key, value.empty() ? "VALUE" : value));
  std::string text = fmt::format("unknown option {} of {}", shown(name), verb.name);
  if (!meant.empty()) throw Error(fmt::format("{}; did you mean {}?", text, fmt::join(meant, ", or ")));
  for (const VerbTable& other : program.verbs)
    if (find_option(other, name)) text += fmt::format("; it is one of '{}'", other.name);
  throw Error(fmt::format("{}. Known: {}{}", text, fmt::join(options_of(verb), ", "),
                          verb.settings ? ", and settings as a.b=c ('darope settings')" : ""));
}

// A blank behind a comma makes a word of its own of what follows.
void refuse_blank_in_list(const std::string& before, const std::vector<std::string>& words, size_t i) {
  if (!words[i].ends_with(',') || i + 1 == words.size()) return;
  const std::string& next = words[i + 1];
  throw Error(
      fmt::format("{}{} ends in a comma, and {} behind the blank is a word of its own: write {}{} "
                  "without the blank",
                  before, words[i], shown(next), words[i], next));
}

// Whether a word is meant as an option: -1 and -.5 are numbers.
bool is_option(const std::string& word) {
  return word.starts_with("--") ||
         (word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])));
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
    const size_t equals = words[i].find('=');
    if (!is_option(words[i])) {
      if (verb->settings && equals != std::string::npos) refuse_blank_in_list("", words, i);
      continue;
    }
    const std::string name = words[i].substr(0, equals);
    const bool valued = i + 1 < words.size() && !words[i + 1].starts_with("--");
    if (const OptionTable* option = find_option(*verb, name)) {
      if (option->value.empty() || equals != std::string::npos || !valued) continue;
      ++i;  // what it takes, whatever that looks like
      if (option->value == kListValue) refuse_blank_in_list(name + " ", words, i);
      continue;
    }
    if (verb == &program) throw Error(unknown_name("option", name, options_of(program)));
    const std::string bare = name.substr(name.find_first_not_of('-'));
    if (equals != std::string::npos && name.starts_with("--") &&
        settings_named(*verb, bare) == std::vector{bare})
      continue;  // --a.b=c
    refuse_option(program, *verb, name,
                  equals != std::string::npos ? words[i].substr(equals + 1)
                  : valued                    ? words[i + 1]
                                              : "");
  }
}

}  // namespace darope
