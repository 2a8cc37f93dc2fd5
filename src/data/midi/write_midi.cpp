#include "data/midi/write_midi.h"

#include <algorithm>
#include <initializer_list>

namespace darope {
namespace {

std::string bytes(std::initializer_list<int64_t> values) {
  std::string out;
  for (const int64_t value : values) out += char(value);
  return out;
}

std::string big_endian(int64_t value, int width) {
  std::string out;
  for (int i = width - 1; i >= 0; --i) out += char(value >> (8 * i));
  return out;
}

std::string variable_length(int64_t value) {  // seven bits a byte, the last without its top bit
  std::string out = bytes({value & 0x7F});
  while (value >>= 7) out.insert(out.begin(), char(0x80 | (value & 0x7F)));
  return out;
}

struct Event {
  int64_t time;
  enum Order { tempo, off, on } order;  // at one time; a note ends before its pitch begins again
  std::string message;
};

std::vector<Event> events_of(const MidiFile& piece) {
  std::vector<Event> out;
  for (const Tempo& tempo : piece.tempos)
    out.push_back({tempo.time, Event::tempo, bytes({0xFF, 0x51, 3}) + big_endian(tempo.microseconds, 3)});
  for (const Note& note : piece.notes) {
    const int64_t channel = note.voice / 128 % 16;
    out.push_back({note.time, Event::on, bytes({0x90 | channel, note.pitch, note.velocity})});
    out.push_back({note.time + note.duration, Event::off, bytes({0x80 | channel, note.pitch, 0})});
  }
  std::ranges::stable_sort(out, {}, [](const Event& each) { return std::pair(each.time, each.order); });
  return out;
}

}  // namespace

std::string write_midi(const MidiFile& piece) {
  std::string track;
  int64_t now = 0;
  for (const Event& each : events_of(piece)) {
    track += variable_length(each.time - now) + each.message;
    now = each.time;
  }
  track += bytes({0, 0xFF, 0x2F, 0});
  constexpr int64_t kHeader = 6, kFormat = 0, kTracks = 1;
  return "MThd" + big_endian(kHeader, 4) + big_endian(kFormat, 2) + big_endian(kTracks, 2) +
         big_endian(piece.ticks_per_quarter, 2) + "MTrk" + big_endian(int64_t(track.size()), 4) + track;
}

}  // namespace darope
