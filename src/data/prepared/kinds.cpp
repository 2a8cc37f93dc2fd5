#include "base/error.h"
#include "base/names.h"
#include "data/prepared/kind.h"

namespace darope {

// One line per kind, in the order of 'darope data prepare --help'. The struct lives in the file of its name.
static const std::vector<Kind> table = {
    // clang-format off
    kind_of<struct Jsb>(),
    kind_of<struct Maestro>(),
    kind_of<struct Midi>(),
    kind_of<struct Genome>(),
    kind_of<struct Fasta>(),
    kind_of<struct SleepEdf>(),
    kind_of<struct Edf>(),
    kind_of<struct Bonn>(),
    kind_of<struct Text>(),
    // clang-format on
};

const std::vector<Kind>& all_kinds() { return table; }

const Kind& find_kind(std::string_view name) {
  std::vector<std::string> known;
  for (const Kind& kind : all_kinds()) {
    if (kind.name == name) return kind;
    known.emplace_back(kind.name);
  }
  throw Error(unknown_name("kind of data", name, known));
}

}  // namespace darope
