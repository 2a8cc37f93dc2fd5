#pragma once
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace darope {

// What a verb is called and takes, apart from what it does: --help, the check of typed words, completions and
// manual pages read this one table.
inline constexpr const char* kListValue = "LIST";  // the type of options that take a,b,c
struct OptionTable {
  std::vector<std::string> names = {};  // "--out"; none for what is told by its place
  std::string value = {}, help = {};    // what stands behind it; "" for a flag
};
struct VerbTable {
  std::string name, summary, help;  // help: all that --help prints
  bool settings = false;            // takes a.b=c
  std::vector<OptionTable> options = {};
  std::vector<VerbTable> verbs = {};  // beneath it
};

VerbTable table_of(const CLI::App& verb, const std::string& before = "");
nlohmann::ordered_json to_json(const VerbTable& table);
VerbTable table_from(const nlohmann::ordered_json& json);

}  // namespace darope
