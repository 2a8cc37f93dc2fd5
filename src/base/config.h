#pragma once
#include <filesystem>

#include "base/fields.h"

namespace darope {

// Each does what its name says over the settings of one config. Later readings win: defaults < file < command
// line.
void read_yaml(const std::vector<Field>& fields, std::string_view text, const std::string& where);
void read_overrides(const std::vector<Field>& fields, const std::vector<std::string>& arguments);
enum class Comments { kNone, kMeanings };  // above each setting, what it means
std::string yaml_text(const std::vector<Field>& fields, Comments comments = Comments::kNone);
std::string help_text(const std::vector<Field>& fields);
std::string markdown_text(const std::vector<Field>& fields);
std::string schema_text(const std::vector<Field>& fields);  // a JSON schema of the YAML, for editors
void check_values(const std::vector<Field>& fields);        // an Error that names the first that may not be
std::string canonical_json(const std::vector<Field>& fields);

struct Difference {
  std::string key, before, after;
};
std::vector<Difference> differences(const std::vector<Field>& before, const std::vector<Field>& after);

// A file and the command line onto a config that holds the defaults. An override is `a.b=c` or `--a.b=c`.
void read_config_file(const std::vector<Field>& fields, const std::filesystem::path& path);
template <Config T>
void load_config(T& config, const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  const std::vector<Field> fields = list_fields(config);
  if (!path.empty()) read_config_file(fields, path);
  read_overrides(fields, overrides);
  check_values(fields);
}

// The config as YAML that reads back to the same values (--print-config, config.yaml).
template <Config T>
std::string to_yaml(T config, Comments comments = Comments::kNone) {
  return yaml_text(list_fields(config), comments);
}
// One text per meaning, keys sorted, whatever order the struct or a file has: hash this.
template <Config T>
std::string to_canonical_json(T config) {
  return canonical_json(list_fields(config));
}
template <Config T>
std::vector<Difference> differences(T before, T after) {
  return differences(list_fields(before), list_fields(after));
}

}  // namespace darope
