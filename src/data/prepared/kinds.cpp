#include "data/prepared/kinds.h"

#include "base/error.h"
#include "base/names.h"
#include "data/midi/remi.h"

namespace darope {

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> table = {
      {.name = "jsb", .source = "JSB Chorales: Jsb16thSeparated.json, or the folder it lies in", .vocabulary = 90, .prepare = prepare_jsb,
       .show = show_chorale},
      {.name = "maestro", .source = "MAESTRO v3: the folder maestro-v3.0.0, with its years and its .csv", .vocabulary = remi::kVocabulary,
       .prepare = prepare_maestro, .show = show_events, .present = transpose},
      {.name = "midi", .source = "your own piano pieces: a folder of .mid and .midi files, at any depth", .vocabulary = remi::kVocabulary,
       .prepare = prepare_midi, .show = show_events, .present = transpose},
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
