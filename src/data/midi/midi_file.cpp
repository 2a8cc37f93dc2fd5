#include "data/midi/midi_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "data/bad_input.h"

namespace darope {
namespace {

constexpr int64_t kMostBars =
    1 << 16;  // over a day of 4/4 at any tempo people play; beyond it a length is an attack

// The bytes between two places of a file, from front to back.
class Bytes {
 public:
  Bytes(std::span<const std::byte> file, size_t begin, size_t end) : file_(file), at_(begin), end_(end) {}

  [[noreturn]] void fail(const std::string& reason) const { throw BadInput(reason, int64_t(at_)); }
  size_t place() const { return at_; }
  size_t left() const { return end_ - at_; }
  uint8_t peek() const {
    if (at_ == end_) fail("it ends in the middle of an event");
    return uint8_t(file_[at_]);
  }
  uint8_t byte() {
    const uint8_t out = peek();
    ++at_;
    return out;
  }
  uint8_t data_byte() {
    if (peek() & 0x80) fail("a status byte stands where an event's data should be");
    return byte();
  }
  uint32_t big_endian(int bytes) {
    uint32_t out = 0;
    for (int i = 0; i < bytes; ++i) out = out << 8 | byte();
    return out;
  }
  uint32_t variable_length() {  // seven bits a byte, at most four bytes
    uint32_t out = 0;
    for (int i = 0; i < 4; ++i) {
      const uint8_t next = byte();
      out = out << 7 | (next & 0x7F);
      if (!(next & 0x80)) return out;
    }
    fail("a variable-length number has more than four bytes");
  }
  Bytes take(uint32_t count, const char* what) {
    if (count > left())
      fail(fmt::format("{} of {} bytes reaches beyond the {} that follow", what, count, left()));
    const Bytes out(file_, at_, at_ + count);
    at_ += count;
    return out;
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(file_.data()) + at_, left()}; }

 private:
  std::span<const std::byte> file_;
  size_t at_, end_;
};

// Notes that sound: for each channel and pitch a queue, linked through the notes themselves.
class OpenNotes {
 public:
  explicit OpenNotes(std::vector<Note>& notes) : notes_(notes), first_(int64_t(notes.size())) {
    heads_.fill(kNone);
  }
  void open(int channel, Note note) {
    const int64_t index = int64_t(notes_.size());
    notes_.push_back(note);
    next_.push_back(kNone);
    const size_t key = size_t(channel) * 128 + note.pitch;
    if (heads_[key] == kNone)
      heads_[key] = index;
    else
      next_[size_t(tails_[key] - first_)] = index;
    tails_[key] = index;
  }
  void close(int channel, uint8_t pitch, int64_t time) {
    int64_t& head = heads_[size_t(channel) * 128 + pitch];
    if (head == kNone) return;
    Note& note = notes_[size_t(head)];
    note.duration = time - note.time;
    head = next_[size_t(head - first_)];
  }

 private:
  static constexpr int64_t kNone = -1;

  std::vector<Note>& notes_;
  int64_t first_;  // of this track
  std::array<int64_t, 16 * 128> heads_, tails_;
  std::vector<int64_t> next_;  // beside the track's notes
};

class TrackReader {
 public:
  TrackReader(Bytes track, uint32_t number, MidiFile& out)
      : track_(track), number_(number), out_(out), open_(out.notes) {}

  void read() {
    while (!ended_ && track_.left() > 0) {
      time_ += track_.variable_length();
      if (time_ / (4 * out_.ticks_per_quarter) >= kMostBars)
        track_.fail(fmt::format("it lasts more than {} bars", kMostBars));
      read_event();
    }
  }

 private:
  void read_event() {
    if (track_.peek() & 0x80)
      status_ = track_.byte();
    else if (status_ == 0)
      track_.fail("an event has no status byte, and none came before it");
    if (status_ < 0xF0) return read_channel_event();
    if (status_ == 0xFF)
      read_meta_event();
    else if (status_ == 0xF0 || status_ == 0xF7)
      track_.take(track_.variable_length(), "a system exclusive event");
    else
      track_.fail(fmt::format("status {:#04x} is not allowed in a file", status_));
    status_ = 0;  // these end a running status
  }

  void read_channel_event() {
    const int kind = status_ & 0xF0, channel = status_ & 0x0F;
    const uint8_t first = track_.data_byte();
    if (kind == 0xC0) programs_[size_t(channel)] = first;
    if (kind == 0xC0 || kind == 0xD0) return;  // program, pressure of a channel: one data byte
    const uint8_t second = track_.data_byte();
    if (kind == 0x90 && second > 0)
      open_.open(channel, {time_, -1, first, second, channel == 9, voice(channel)});
    else if (kind == 0x80 || kind == 0x90)
      open_.close(channel, first, time_);
  }

  int32_t voice(int channel) const {
    return (int32_t(number_) * 16 + channel) * 128 + programs_[size_t(channel)];
  }

  void read_meta_event() {
    const uint8_t kind = track_.byte();
    Bytes content = track_.take(track_.variable_length(), "a meta event");
    if (kind == 0x51 && content.left() == 3) out_.tempos.push_back({time_, content.big_endian(3)});
    if (kind == 0x2F) ended_ = true;
  }

  Bytes track_;
  uint32_t number_;
  MidiFile& out_;
  OpenNotes open_;
  std::array<uint8_t, 16> programs_{};
  int64_t time_ = 0;
  uint8_t status_ = 0;
  bool ended_ = false;
};

// A single voice stays as the file has it. Where there are several, the order must not depend on how a file
// spreads them over its tracks.
void sort_notes(std::vector<Note>& notes) {
  const auto of_another = [&](const Note& note) { return note.voice != notes.front().voice; };
  const bool several = std::any_of(notes.begin(), notes.end(), of_another);
  std::stable_sort(notes.begin(), notes.end(), [&](const Note& a, const Note& b) {
    if (!several) return a.time < b.time;
    return std::tie(a.time, a.duration, a.pitch, a.velocity) <
           std::tie(b.time, b.duration, b.pitch, b.velocity);
  });
}

}  // namespace

MidiFile parse_midi(std::span<const std::byte> bytes) {
  Bytes file(bytes, 0, bytes.size());
  if (bytes.empty()) file.fail("it is empty");
  if (!file.text().starts_with("MThd")) file.fail("it does not begin with MThd, as a MIDI file does");
  file.take(4, "");
  const uint32_t length = file.big_endian(4);
  if (length < 6) file.fail(fmt::format("its header has {} bytes; 6 are needed", length));
  Bytes header = file.take(length, "a header");
  const uint32_t format = header.big_endian(2), tracks = header.big_endian(2),
                 division = header.big_endian(2);
  if (format > 1)
    throw BadInput(fmt::format("it is of format {}; formats 0 and 1 hold one piece", format), 8);
  if (division == 0) throw BadInput("its division is 0: a quarter note should have at least one tick", 12);
  if (division & 0x8000) throw BadInput("its time is in SMPTE frames, which have no beats", 12);

  MidiFile out{.ticks_per_quarter = division, .notes = {}, .tempos = {}};
  for (uint32_t track = 0; track < tracks;) {
    if (file.left() < 8) file.fail(fmt::format("it ends before track {} of {}", track + 1, tracks));
    const bool is_track = file.text().starts_with("MTrk");
    file.take(4, "");
    const uint32_t size = file.big_endian(4);
    const Bytes chunk = file.take(size, "a chunk");
    if (!is_track) continue;
    TrackReader(chunk, track, out).read();
    ++track;
  }
  out.unclosed = int64_t(std::erase_if(out.notes, [](const Note& note) { return note.duration < 0; }));
  sort_notes(out.notes);
  std::stable_sort(out.tempos.begin(), out.tempos.end(),
                   [](const Tempo& a, const Tempo& b) { return a.time < b.time; });
  return out;
}

}  // namespace darope
