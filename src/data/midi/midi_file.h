#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace darope {

struct Note {
  int64_t time, duration;  // ticks
  uint8_t pitch, velocity;
  bool percussion;  // channel 10
  int32_t voice;    // the same for notes of one track, channel and program
};

struct Tempo {
  int64_t time, microseconds;  // of a quarter note
};

// What a Standard MIDI File holds of music, each list in the order of time and, at one time, of the file.
// Notes of several voices are put together as symusic sorts them: by time, duration, pitch and velocity.
struct MidiFile {
  int64_t ticks_per_quarter = 0;
  std::vector<Note> notes;
  std::vector<Tempo> tempos;
  int64_t unclosed = 0;  // notes that are never let go; they are left out
};

// Reads formats 0 and 1. A note-on of velocity 0 is a note-off; of overlapping notes of one pitch and channel
// the first to begin is the first to end; chunks of other kinds are passed over. Anything else that the
// standard does not allow is a BadInput.
MidiFile parse_midi(std::span<const std::byte> bytes);

}  // namespace darope
