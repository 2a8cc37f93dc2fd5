#pragma once
#include <string>

#include "data/midi/midi_file.h"

namespace darope {

// REMI tokens (Huang and Yang 2020) as MidiTok 3.0.5.post1 gives them with pitches 21 to 108, 8 positions a
// beat up to 4 beats and 4 up to 12, 32 velocities, chords, 32 tempos from 40 to 250, and everything else at
// its default.
namespace remi {

inline constexpr int64_t kVocabulary = 328;
enum Id : uint16_t {
  kPad = 0,
  kBegin = 1,
  kEnd = 2,
  kMask = 3,
  kBar = 4,
  kPitch = 5,       // 21 to 108
  kVelocity = 93,   // 32
  kDuration = 125,  // 64
  kPosition = 189,  // 32 to the bar
  kDrum = 221,      // 27 to 87
  kChord = 282,     // 14
  kTempo = 296,     // 32
};
inline constexpr int kLowestPitch = 21, kHighestPitch = 108;

// A word of MidiTok's: Pitch_60, Duration_1.4.8, Tempo_121.29.
std::string word(int64_t id);

// The tokens of a piece, or of a part of one whose times count from the part's beginning; notes and tempos by
// rising time.
std::vector<uint16_t> tokenize(int64_t ticks_per_quarter, std::span<const Note> notes,
                               std::span<const Tempo> tempos);

// The piece that tokens tell, up to its end; what makes no note or tempo is passed over, as a model may
// write.
MidiFile piece_of(std::span<const int64_t> tokens);

}  // namespace remi
}  // namespace darope
