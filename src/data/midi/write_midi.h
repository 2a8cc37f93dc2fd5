#pragma once
#include <string>

#include "data/midi/midi_file.h"

namespace darope {

// The bytes of a file of format 0: what parse_midi reads back as the same piece, as long as no two notes of
// one pitch and channel overlap.
std::string write_midi(const MidiFile& piece);

}  // namespace darope
