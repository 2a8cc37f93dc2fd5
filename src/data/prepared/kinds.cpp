#include <fmt/format.h>

#include <algorithm>
#include <cctype>

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

static bool is_of(const std::filesystem::path& file, const Kind& kind) {
  std::string name = file.filename().string();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return std::ranges::any_of(kind.endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

void refuse_files_of_kinds(const std::filesystem::path& source) {
  namespace fs = std::filesystem;
  std::error_code unreadable;  // is said by whoever reads it
  std::vector<fs::path> files;
  if (fs::is_directory(source, unreadable)) {
    for (fs::recursive_directory_iterator at(source, unreadable), end; at != end; at.increment(unreadable))
      if (at->is_regular_file(unreadable)) files.push_back(at->path());
  } else {
    files.push_back(source);
  }
  for (const Kind& kind : all_kinds()) {
    const auto its = std::ranges::count_if(files, [&](const fs::path& each) { return is_of(each, kind); });
    if (2 * size_t(its) > files.size())
      throw Error(
          fmt::format("{0} holds {1} files, no text: 'darope data prepare {1} FOLDER --out DIR' makes a "
                      "dataset of them, to be given in their place",
                      source.string(), kind.name));
  }
}

}  // namespace darope
