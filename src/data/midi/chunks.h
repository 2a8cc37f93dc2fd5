#pragma once
#include "data/midi/remi.h"

namespace darope::remi {

inline constexpr int64_t kContext = 2048;

// Tokens that a note costs in this piece, on average. A piece has at least one note.
double tokens_per_note(const MidiFile& piece);

// Whether a piece of so many notes makes no sequence, being estimated at less than a quarter of kContext.
bool is_short(int64_t notes, double tokens_per_note);

// A piece cut at bars into sequences of at most kContext tokens, each beginning two bars before the last
// one's end. Where a bar ends is estimated at `tokens_per_note`, the mean over a whole collection, so a
// sequence may have to be cut short. The first begins with BOS, the last ends with EOS unless it was cut. A
// rest that is estimated at less than a quarter of kContext is dropped, unless it is the whole piece and
// short ones are kept.
std::vector<std::vector<uint16_t>> sequences(const MidiFile& piece, double tokens_per_note,
                                             bool keep_short = false);

}  // namespace darope::remi
