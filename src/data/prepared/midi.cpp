#include "data/prepared/define.h"
#include "data/prepared/performances.h"

namespace darope {

struct Midi {
  static constexpr std::array<std::string_view, 2> endings = {".mid", ".midi"};
  static void prepare(const PrepareRequest& request, Preparation& out) {
    prepare_performances(request, midi_files(request.source, endings), out);
  }
  static constexpr Kind kind{
      .name = "midi",
      .source = "your own piano pieces: a folder of .mid and .midi files, at any depth",
      .endings = endings,
      .items = "pieces",
      .prepare = prepare,
      .show = show_events,
      .word = remi::word,
      .midi = midi_of_events,
      .present = transpose};
};
template Kind kind_of<Midi>();

}  // namespace darope
