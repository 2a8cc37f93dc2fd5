#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.h"
#include "cli/verbs.h"
#include "cli/words.h"

namespace darope {
namespace {

std::vector<std::string> names_of(const VerbTable& verb) {
  std::vector<std::string> out;
  for (const VerbTable& each : verb.verbs) out.push_back(each.name);
  for (const OptionTable& each : verb.options) out.insert(out.end(), each.names.begin(), each.names.end());
  for (const Field& each : settings_of(verb)) out.push_back(each.key + "=");
  return out;
}

// Every verb with the words before it: "", "train", "data prepare".
void each_verb(const VerbTable& verb, const std::string& path, const auto& use) {
  use(path, verb);
  for (const VerbTable& each : verb.verbs)
    each_verb(each, path.empty() ? each.name : path + " " + each.name, use);
}

// One function serves bash and, through bashcompinit, zsh: the verb is the words that are no options.
std::string bash(const VerbTable& program) {
  std::string cases;
  std::vector<std::string> groups;  // verbs that have verbs of their own
  each_verb(program, "", [&](const std::string& path, const VerbTable& verb) {
    if (!path.empty() && !verb.verbs.empty()) groups.push_back(path);
    cases += fmt::format("    '{}') words='{}' ;;\n", path, fmt::join(names_of(verb), " "));
  });
  return fmt::format(
      R"(_darope() {{
  local word words verb='' current="${{COMP_WORDS[COMP_CWORD]}}"
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
      -*|*=*|*/*|*.*) break ;;
      *) verb="${{verb:+$verb }}$word" ;;
    esac
    case "${{verb%% *}}" in {}) ;; *) break ;; esac
    [ "$verb" = "${{verb% *}}" ] || break
  done
  case "$verb" in
{}    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ -n "$verb" ] && COMPREPLY+=($(compgen -f -- "$current"))
  [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}}
complete -o filenames -F _darope darope
)",
      fmt::join(groups, "|"), cases);
}

std::string zsh(const VerbTable& program) {
  return "#compdef darope\nautoload -U +X bashcompinit && bashcompinit\n" + bash(program);
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
    const std::string where =
        path.empty() ? "__fish_use_subcommand" : "__fish_seen_subcommand_from " + verb.name;
    for (const VerbTable& each : verb.verbs)
      out += fmt::format("complete -c darope -f -n '{}' -a {} -d '{}'\n", where, each.name,
                         fish_words(each.summary));
    for (const OptionTable& each : verb.options)
      for (const std::string& name : each.names)
        out += fmt::format("complete -c darope -n '{}' -{} {}{} -d '{}'\n", where,
                           name.starts_with("--") ? "l" : "s", name.substr(name.rfind('-', 1) + 1),
                           each.value.empty() ? "" : " -r", fish_words(each.help));
    for (const Field& each : settings_of(verb))
      out += fmt::format("complete -c darope -n '{}' -a '{}=' -d '{}'\n", where, each.key,
                         fish_words(each.help));
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
