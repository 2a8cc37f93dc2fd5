#include "cli/common/table.h"

namespace darope {
namespace {

OptionTable option_of(const CLI::Option& option) {
  OptionTable out{.help = option.get_description()};
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  if (out.names.empty())
    out.value = option.get_name(true);
  else if (option.get_items_expected_max() > 0)
    out.value = option.get_type_name();
  return out;
}

}  // namespace

VerbTable table_of(const CLI::App& verb, const std::string& before) {
  VerbTable out{.name = verb.get_name(),
                .summary = verb.get_description(),
                .help = verb.help(before),
                .settings = verb.get_allow_extras()};
  for (const CLI::Option* each : verb.get_options()) out.options.push_back(option_of(*each));
  for (const CLI::App* each : verb.get_subcommands(nullptr))
    out.verbs.push_back(table_of(*each, before.empty() ? verb.get_name() : before + " " + verb.get_name()));
  return out;
}

nlohmann::ordered_json to_json(const VerbTable& table) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array(), verbs = nlohmann::ordered_json::array();
  for (const OptionTable& each : table.options)
    options.push_back({{"names", each.names}, {"value", each.value}, {"help", each.help}});
  for (const VerbTable& each : table.verbs) verbs.push_back(to_json(each));
  return {{"name", table.name},         {"summary", table.summary}, {"help", table.help},
          {"settings", table.settings}, {"options", options},       {"verbs", verbs}};
}

VerbTable table_from(const nlohmann::ordered_json& json) {
  VerbTable out{.name = json.at("name"),
                .summary = json.at("summary"),
                .help = json.at("help"),
                .settings = json.at("settings")};
  for (const auto& each : json.at("options"))
    out.options.push_back({each.at("names"), each.at("value"), each.at("help")});
  for (const auto& each : json.at("verbs")) out.verbs.push_back(table_from(each));
  return out;
}

}  // namespace darope
