#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "data/prepared/define.h"
#include "data/prepared/performances.h"

namespace darope {
namespace {

constexpr const char* kTable = "maestro-v3.0.0.csv";

// The fields of the next line of a CSV text, which may be quoted and then hold commas, line ends and doubled
// quotes.
std::vector<std::string> next_row(std::string_view& text) {
  std::vector<std::string> row(1);
  bool quoted = false;
  size_t i = 0;
  for (; i < text.size() && (quoted || text[i] != '\n'); ++i) {
    if (text[i] == '"') {
      const bool doubled = quoted && text.substr(i + 1, 1) == "\"";
      if (doubled)
        row.back() += text[++i];
      else
        quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      row.emplace_back();
    } else if (text[i] != '\r') {
      row.back() += text[i];
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return row;
}

std::vector<std::string> listed_files(std::string_view text, const std::string& where) {
  const std::vector<std::string> heads = next_row(text);
  const size_t column = size_t(std::find(heads.begin(), heads.end(), "midi_filename") - heads.begin());
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::vector<std::string> row = next_row(text);
    if (row.size() <= column)
      throw Error(fmt::format("{} should have a column midi_filename, filled in every row", where));
    out.push_back(row[column]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// The performances of the publisher's table; its own split is not the paper's, which is drawn over all of
// them.
void prepare_maestro(const PrepareRequest& request, Preparation& out) {
  const std::filesystem::path table = request.source / kTable;
  const std::string text = read_file(table);
  out.source(kTable, text);
  prepare_performances(request, listed_files(text, table.string()), out);
}

}  // namespace

struct Maestro {
  static constexpr Kind kind{.name = "maestro",
                             .source = "MAESTRO v3: the folder maestro-v3.0.0, with its years and its .csv",
                             .items = "pieces",
                             .prepare = prepare_maestro,
                             .show = show_events,
                             .word = remi::word,
                             .midi = midi_of_events,
                             .present = transpose};
};
template Kind kind_of<Maestro>();

}  // namespace darope
