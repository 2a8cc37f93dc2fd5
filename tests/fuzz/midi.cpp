#include "data/midi/chunks.h"
#include "fuzz.h"

// What is read becomes tokens of the vocabulary, in sequences that fit.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  may_refuse([&] {
    const MidiFile piece = parse_midi(std::as_bytes(std::span(data, size)));
    for (const Note& note : piece.notes)
      must(note.duration >= 0 && note.pitch < 128 && note.velocity > 0 && note.velocity < 128);
    if (piece.notes.empty()) return;
    const double tokens_per_note = remi::tokens_per_note(piece);
    for (const std::vector<uint16_t>& sequence : remi::sequences(piece, tokens_per_note)) {
      must(sequence.size() >= 2 && int64_t(sequence.size()) <= remi::kContext);
      for (const uint16_t id : sequence) must(id < remi::kVocabulary && !remi::word(id).empty());
    }
  });
  return 0;
}
