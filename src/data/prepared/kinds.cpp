#include "data/prepared/kinds.h"

#include "base/error.h"
#include "base/names.h"

namespace darope {

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> table = {
      {.name = "jsb", .source = "JSB Chorales: Jsb16thSeparated.json, or the folder it lies in", .vocabulary = 90, .prepare = prepare_jsb,
       .show = show_chorale},
  };
  return table;
}

const Kind& find_kind(std::string_view name) {
  std::vector<std::string> known;
  for (const Kind& kind : all_kinds()) {
    if (kind.name == name) return kind;
    known.emplace_back(kind.name);
  }
  throw Error(unknown_name("kind of data", name, known));
}

}  // namespace darope
