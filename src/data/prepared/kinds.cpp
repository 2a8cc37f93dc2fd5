#include "data/prepared/kinds.h"

#include "base/error.h"
#include "base/names.h"
#include "data/midi/remi.h"

namespace darope {

const std::vector<Kind>& all_kinds() {
  static const std::vector<Kind> table = {
      {.name = "jsb",
       .source = "JSB Chorales: Jsb16thSeparated.json, or the folder it lies in",
       .vocabulary = 90,
       .prepare = prepare_jsb,
       .show = show_chorale},
      {.name = "maestro",
       .source = "MAESTRO v3: the folder maestro-v3.0.0, with its years and its .csv",
       .vocabulary = remi::kVocabulary,
       .prepare = prepare_maestro,
       .show = show_events,
       .present = transpose},
      {.name = "midi",
       .source = "your own piano pieces: a folder of .mid and .midi files, at any depth",
       .vocabulary = remi::kVocabulary,
       .prepare = prepare_midi,
       .show = show_events,
       .present = transpose},
      {.name = "genome",
       .source =
           "human reference genome: GCF_000001405.40_GRCh38.p14_genomic.fna(.gz), or the folder it lies in",
       .vocabulary = 4107,
       .prepare = prepare_genome,
       .show = show_bases,
       .present = present_bases,
       .stored_values = 'T' + 1,
       .part = megabase_of},
      {.name = "fasta",
       .source = "own FASTA files: a folder; train*, valid* and test* of them, else split by record",
       .vocabulary = 4107,
       .prepare = prepare_fasta,
       .show = show_bases,
       .present = present_bases,
       .stored_values = 'T' + 1,
       .part = megabase_of},
      {.name = "sleep-edf",
       .source = "Sleep-EDF Expanded: the folder with sleep-cassette/ in it, or that folder",
       .vocabulary = 256,
       .prepare = prepare_sleep_edf,
       .show = show_signal,
       .windows = true},
      {.name = "edf",
       .source = "own EDF files: a folder, split by file; --channel names the signal",
       .vocabulary = 256,
       .prepare = prepare_edf,
       .show = show_signal,
       .windows = true},
      {.name = "bonn",
       .source = "Bonn EEG: the folder of its 500 text files; a stand-in for sleep-edf",
       .vocabulary = 256,
       .prepare = prepare_bonn,
       .show = show_signal,
       .windows = true},
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
