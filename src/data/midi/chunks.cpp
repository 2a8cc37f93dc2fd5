#include "data/midi/chunks.h"

#include <algorithm>
#include <iterator>

namespace darope::remi {
namespace {

constexpr int64_t kBeatsPerBar = 4, kOverlapBars = 2;
constexpr double kLeast = double(kContext) / 4;

struct Stretch {
  int64_t begin, end;  // ticks
};

int64_t end_of(const MidiFile& piece) {
  int64_t end = 0;
  for (const Note& note : piece.notes) end = std::max(end, note.time + note.duration);
  return end;
}

// How many notes begin in each bar. Bars run while they begin before the last onset; the last one reaches to
// the piece's end.
std::vector<int64_t> notes_by_bar(const MidiFile& piece, int64_t bar) {
  const int64_t last = piece.notes.back().time, end = end_of(piece);
  std::vector<int64_t> out(size_t(std::max<int64_t>(1, (last + bar - 1) / bar)), 0);
  for (const Note& note : piece.notes)
    if (note.time < end) ++out[std::min(size_t(note.time / bar), out.size() - 1)];
  return out;
}

// A stretch ends behind the bar whose notes would be too many for it.
std::vector<Stretch> stretches(const MidiFile& piece, double tokens_per_note, bool keep_short) {
  const int64_t ticks = kBeatsPerBar * piece.ticks_per_quarter, end = end_of(piece) + 1;
  const std::vector<int64_t> notes = notes_by_bar(piece, ticks);
  const int64_t bars = int64_t(notes.size());
  std::vector<Stretch> out;
  int64_t start = 0, inside = 0;  // notes from the bar `start` on
  for (int64_t bar = 0; bar < bars; ++bar) {
    inside += notes[size_t(bar)];
    if (double(inside) * tokens_per_note <= double(kContext) || bar + 1 == bars) continue;
    const int64_t stop = bar + 1;
    out.push_back({start * ticks, stop * ticks});
    start = std::max(start + 1, bar == start ? stop : stop - kOverlapBars);
    inside = 0;
    for (int64_t b = start; b <= bar; ++b) inside += notes[size_t(b)];
  }
  if (!is_short(inside, tokens_per_note) || (keep_short && out.empty())) out.push_back({start * ticks, end});
  if (out.size() == 1) out[0] = {0, end};
  return out;
}

// The notes that begin in the stretch, with all of their lengths, and the tempo it begins with; times count
// from its beginning.
std::vector<uint16_t> tokens_of(const MidiFile& piece, Stretch stretch) {
  const auto begins_before = [](const auto& event, int64_t time) { return event.time < time; };
  const auto first = std::lower_bound(piece.notes.begin(), piece.notes.end(), stretch.begin, begins_before);
  const auto last = std::lower_bound(first, piece.notes.end(), stretch.end, begins_before);
  std::vector<Note> notes(first, last);
  if (notes.empty()) return {};
  for (Note& note : notes) note.time -= stretch.begin;
  std::vector<Tempo> tempos;
  auto tempo = std::lower_bound(piece.tempos.begin(), piece.tempos.end(), stretch.begin + 1, begins_before);
  if (tempo != piece.tempos.begin()) tempos.push_back({0, std::prev(tempo)->microseconds});
  for (; tempo != piece.tempos.end() && tempo->time < stretch.end; ++tempo)
    tempos.push_back({tempo->time - stretch.begin, tempo->microseconds});
  return tokenize(piece.ticks_per_quarter, notes, tempos);
}

}  // namespace

double tokens_per_note(const MidiFile& piece) {
  return double(tokenize(piece.ticks_per_quarter, piece.notes, piece.tempos).size()) /
         double(piece.notes.size());
}

bool is_short(int64_t notes, double tokens_per_note) { return double(notes) * tokens_per_note < kLeast; }

std::vector<std::vector<uint16_t>> sequences(const MidiFile& piece, double tokens_per_note, bool keep_short) {
  std::vector<std::vector<uint16_t>> out;
  const std::vector<Stretch> parts = stretches(piece, tokens_per_note, keep_short);
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<uint16_t> tokens = tokens_of(piece, parts[i]);
    if (tokens.empty()) continue;
    if (i == 0) tokens.insert(tokens.begin(), kBegin);
    const bool last = i + 1 == parts.size();
    const size_t room = size_t(kContext) - (last ? 1 : 0);  // kept for EOS, even where the cut takes it
    if (tokens.size() > room)
      tokens.resize(room);
    else if (last)
      tokens.push_back(kEnd);
    out.push_back(std::move(tokens));
  }
  return out;
}

}  // namespace darope::remi
