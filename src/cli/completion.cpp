#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <sstream>

#include "base/names.h"
#include "cli/compute.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "data/prepared/kind.h"
#include "data/tasks/task.h"

namespace darope {
namespace {

std::vector<std::string> names_of(const VerbTable& verb) {
  std::vector<std::string> out;
  for (const VerbTable& each : verb.verbs) out.push_back(each.name);
  for (const OptionTable& each : verb.options) out.insert(out.end(), each.names.begin(), each.names.end());
  for (const Field& each : settings_of(verb)) out.push_back(each.key + "=");
  return out;
}

// What may stand behind an option, or as a verb's first word, where that is one of known names.
std::vector<std::string> choices_of(const VerbTable& program, const std::string& path,
                                    const OptionTable& option) {
  const std::string name = option.names.empty() ? path + " " + option.value : option.names.front();
  if (name == "--encodings" || name == "--encoding" || name == "--reference") return encoding_order();
  if (name == "tasks NAME") return task_names();
  if (name == "completion SHELL") return {"bash", "zsh", "fish"};
  std::vector<std::string> out;
  if (name == "data prepare KIND")
    for (const Kind& kind : all_kinds()) out.emplace_back(kind.name);
  if (name == "settings PREFIX")
    for (const VerbTable& verb : program.verbs)
      if (verb.name == "compare")
        for (const Field& each : settings_of(verb)) out.push_back(each.key);
  return out;
}

// Every verb with the words before it: "", "train", "data prepare".
void each_verb(const VerbTable& verb, const std::string& path, const auto& use) {
  use(path, verb);
  for (const VerbTable& each : verb.verbs)
    each_verb(each, path.empty() ? each.name : path + " " + each.name, use);
}

// What bash and zsh share: the verb is the words that are no options, and `names` becomes what it takes.
std::string find_names(const VerbTable& program, const std::string& typed) {
  std::string cases;
  std::vector<std::string> groups;  // verbs that have verbs of their own
  each_verb(program, "", [&](const std::string& path, const VerbTable& verb) {
    if (!path.empty() && !verb.verbs.empty()) groups.push_back(path);
    cases += fmt::format("    '{}') names='{}' ;;\n", path, fmt::join(names_of(verb), " "));
  });
  return fmt::format(R"(  local word verb='' names=''
  for word in {}; do
    case "$word" in
      -*|*=*|*/*|*.*) break ;;
      *) verb="${{verb:+$verb }}$word" ;;
    esac
    case "${{verb%% *}}" in {}) ;; *) break ;; esac
    [ "$verb" = "${{verb% *}}" ] || break
  done
  case "$verb" in
{}  esac
)",
                     typed, fmt::join(groups, "|"), cases);
}

std::string last_word(const std::string& path) { return path.substr(path.rfind(' ') + 1); }

// `choices` becomes what may stand behind the word `before`: an option, or the verb itself.
std::string find_choices(const VerbTable& program) {
  std::string cases;
  each_verb(program, "", [&](const std::string& path, const VerbTable& verb) {
    for (const OptionTable& each : verb.options) {
      const std::string choices = fmt::format("{}", fmt::join(choices_of(program, path, each), " "));
      const std::string before = each.names.empty() ? last_word(path) : each.names.front();
      if (!choices.empty()) cases += fmt::format("    '{} {}') choices='{}' ;;\n", path, before, choices);
    }
  });
  return "  local choices=''\n  case \"$verb $before\" in\n" + cases + "  esac\n";
}

// `names` becomes what may stand behind the '=' of a setting.
std::string find_values(const VerbTable& program) {
  std::map<std::string, std::string> values;
  each_verb(program, "", [&](const std::string&, const VerbTable& verb) {
    for (const Field& each : settings_of(verb))
      if (!each.allowed.names.empty())
        values[each.key] = fmt::format("{}", fmt::join(each.allowed.names, " "));
  });
  std::string cases;
  for (const auto& [key, names] : values) cases += fmt::format("    {}) names='{}' ;;\n", key, names);
  return "  names=''\n  case \"${key#--}\" in\n" + cases + "  esac\n";
}

// Bash cuts words at '=', so that of a setting $2 is the value alone; and it shows files as files, quoted
// where that is needed, only if nothing else is among them.
std::string bash(const VerbTable& program) {
  return "_darope() {\n" + find_names(program, R"("${COMP_WORDS[@]:1:COMP_CWORD-1}")") +
         "  local before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n" + find_choices(program) +
         R"(  local key='' current="${2//\\/}" files head=''
  if [[ -n $choices && $current != -* ]]; then
    [[ $current == *,* ]] && head="${current%,*},"
    mapfile -t COMPREPLY < <(compgen -P "$head" -W "$choices" -- "${current##*,}")
    return 0
  fi
  [[ ${COMP_WORDS[COMP_CWORD]} == = ]] && key="${COMP_WORDS[COMP_CWORD-1]}"
  [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]] && key="${COMP_WORDS[COMP_CWORD-2]}"
  if [ -n "$key" ]; then
)" + find_values(program) +
         R"(  fi
  mapfile -t COMPREPLY < <(compgen -W "$names" -- "$current")
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  [ -n "$verb" ] && [ -z "$key" -o -z "$names" ] || return 0
  mapfile -t files < <(compgen -f -- "$current")
  [ ${#COMPREPLY[@]} != 0 ] || compopt -o filenames
  COMPREPLY+=("${files[@]}")
}
complete -F _darope darope
)";
}

// Sourced, it says whom it serves; from a folder of fpath, zsh runs the file itself at the first use.
std::string zsh(const VerbTable& program) {
  return "#compdef darope\n_darope() {\n" + find_names(program, R"("${(@)words[2,CURRENT-1]}")") +
         "  local before=$words[CURRENT-1]\n" + find_choices(program) +
         R"(  if [[ -n $choices && $PREFIX != -* ]]; then
    compset -P '*,'
    compadd -- ${=choices}
    return
  fi
  if [[ $PREFIX == *=* ]]; then
    local key=${PREFIX%%=*}
    compset -P '*='
)" + find_values(program) +
         R"(    if [[ -n $names ]]; then compadd -- ${=names}; else _files; fi
    return
  fi
  local none=1
  local -a all=(${=names})
  compadd -S '' -- ${(M)all:#*=} && none=0
  compadd -- ${all:#*=} && none=0
  [[ -n $verb ]] && _files && none=0
  return none
}
if [[ $funcstack[1] == _darope ]]; then
  _darope "$@"
else
  compdef _darope darope
fi
)";
}

std::string fish_words(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish(const VerbTable& program) {
  std::string out;
  each_verb(program, "", [&](const std::string& path, const VerbTable& verb) {
    std::string where = "__fish_use_subcommand";
    if (!path.empty()) {
      where.clear();
      std::istringstream words(path);
      for (std::string word; words >> word;)
        where += (where.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
      for (const VerbTable& each : verb.verbs) where += "; and not __fish_seen_subcommand_from " + each.name;
    }
    for (const VerbTable& each : verb.verbs)
      out += fmt::format("complete -c darope -f -n '{}' -a {} -d '{}'\n", where, each.name,
                         fish_words(each.summary));
    for (const OptionTable& each : verb.options) {
      std::string takes = each.value.empty() ? "" : " -r";
      if (const std::vector<std::string> choices = choices_of(program, path, each); !choices.empty())
        takes = fmt::format(" -x -a '{}'", fmt::join(choices, " "));
      for (const std::string& name : each.names)
        out += fmt::format("complete -c darope -n '{}' -{} {}{} -d '{}'\n", where,
                           name.starts_with("--") ? "l" : "s", name.substr(name.rfind('-', 1) + 1), takes,
                           fish_words(each.help));
      if (each.names.empty() && takes.starts_with(" -x"))
        out += fmt::format("complete -c darope -f -n '{}; and test (commandline -opc)[-1] = {}'{}\n", where,
                           last_word(path), takes.substr(3));
    }
    for (const Field& each : settings_of(verb)) {
      std::string words = each.key + "=";
      for (const std::string& name : each.allowed.names) words += fmt::format(" {}={}", each.key, name);
      out += fmt::format("complete -c darope -n '{}' -a '{}' -d '{}'\n", where, words, fish_words(each.help));
    }
  });
  return out;
}

}  // namespace

void add_completion(CLI::App& app, const VerbTable& program) {
  auto shell = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("completion", "the script by which a shell completes words");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  verb->callback([shell, &program] {
    if (*shell != "bash" && *shell != "zsh" && *shell != "fish")
      throw Error(unknown_name("shell", *shell, {"bash", "zsh", "fish"}));
    fmt::print("{}", (*shell == "bash" ? bash : *shell == "zsh" ? zsh : fish)(program));
  });
}

}  // namespace darope
