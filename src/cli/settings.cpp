#include <fmt/format.h>

#include <algorithm>

#include "base/config.h"
#include "base/names.h"
#include "cli/compute.h"
#include "cli/verbs.h"
#include "settings/compare.h"

namespace darope {
namespace {

// Those of a prefix: a setting, a section, or the beginning of names.
std::vector<Field> chosen(std::vector<Field> fields, const std::string& prefix) {
  std::vector<std::string> keys;
  for (const Field& field : fields)
    for (const std::string& key : {field.key.substr(0, field.key.rfind('.')), field.key})
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  std::erase_if(fields, [&](const Field& field) { return !field.key.starts_with(prefix); });
  if (fields.empty()) throw Error(unknown_name("setting", prefix, keys));
  return fields;
}

}  // namespace

void add_settings(CLI::App& app) {
  struct Asked {
    std::string prefix;
    bool schema = false, markdown = false;
  };
  auto asked = std::make_shared<Asked>();
  CLI::App* verb = app.add_subcommand("settings", "every setting: default, meaning, type and range");
  verb->add_option("PREFIX", asked->prefix, "only those whose names begin so, such as optim");
  verb->add_flag("--schema", asked->schema, "print a JSON schema of configs, for editors");
  verb->add_flag("--markdown", asked->markdown, "print a table, as docs/settings.md");
  verb->callback([asked] {
    CompareConfig config;
    const std::vector<Field> fields = chosen(with_names(list_fields(config)), asked->prefix);
    fmt::print("{}", asked->schema     ? schema_text(fields)
                     : asked->markdown ? markdown_text(fields)
                                       : help_text(fields));
  });
}

}  // namespace darope
