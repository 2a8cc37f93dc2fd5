#include "data/midi/remi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/error.h"

namespace darope::remi {
namespace {

constexpr int64_t kPositionsPerBeat = 8, kBarTicks = 32;  // ticks of our own grid; a bar has four beats
constexpr int64_t kHalfBeat = kPositionsPerBeat / 2;
constexpr size_t kMostInChord = 5, kLookAhead = 10;
constexpr int kLowestDrum = 27, kHighestDrum = 87;

// Intervals above the chord's first note, in the order of their tokens.
struct Chord {
  const char* name;
  std::array<int, kMostInChord> intervals;
  size_t size;
};
constexpr std::array<Chord, 14> kChords = {{
    {"min", {0, 3, 7}, 3},
    {"maj", {0, 4, 7}, 3},
    {"dim", {0, 3, 6}, 3},
    {"aug", {0, 4, 8}, 3},
    {"sus2", {0, 2, 7}, 3},
    {"sus4", {0, 5, 7}, 3},
    {"7dom", {0, 4, 7, 10}, 4},
    {"7min", {0, 3, 7, 10}, 4},
    {"7maj", {0, 4, 7, 11}, 4},
    {"7halfdim", {0, 3, 6, 10}, 4},
    {"7dim", {0, 3, 6, 9}, 4},
    {"7aug", {0, 4, 8, 11}, 4},
    {"9maj", {0, 4, 7, 10, 14}, 5},
    {"9min", {0, 4, 7, 10, 13}, 5},
}};

// The grids. An entry's place is its token's place behind the first of its kind.
struct Grids {
  std::array<int64_t, 32> velocities;
  std::array<double, 32> tempos;
  std::array<int64_t, 64> durations;  // ticks: 1 to 31, then every second up to 96
  std::array<uint8_t, 128> velocity_of;
  std::array<uint8_t, 97> duration_of;
  int64_t default_tempo;

  Grids() {
    for (int64_t k = 0; k < 32; ++k) {
      velocities[size_t(k)] = 127 * (k + 1) / 32;
      tempos[size_t(k)] = std::round(100 * (40 + 210 * double(k) / 31)) / 100;
    }
    for (int64_t k = 0; k < 64; ++k) durations[size_t(k)] = k < 31 ? k + 1 : 32 + 2 * (k - 31);
    for (size_t v = 0; v < 128; ++v) velocity_of[v] = uint8_t(nearest(velocities, int64_t(v)));
    for (size_t d = 0; d < 97; ++d) duration_of[d] = uint8_t(nearest(durations, int64_t(d)));
    default_tempo = nearest(tempos, 120.0);
  }
  // Of two that are equally near the larger.
  template <class T, size_t N>
  static int64_t nearest(const std::array<T, N>& grid, T value) {
    size_t best = 0;
    for (size_t i = 1; i < N; ++i)
      if (std::abs(grid[i] - value) <= std::abs(grid[best] - value)) best = i;
    return int64_t(best);
  }
  // Nearest as a length of a quarter note, which is not the nearest in beats per minute.
  int64_t tempo_of(int64_t microseconds) const {
    const auto far = [&](size_t i) { return std::abs(60e6 / tempos[i] - double(microseconds)); };
    size_t best = 0;
    for (size_t i = 1; i < tempos.size(); ++i)
      if (far(i) < far(best)) best = i;
    return int64_t(best);
  }
};
const Grids kGrids;

struct GridNote {
  int64_t time, duration;
  uint8_t pitch, velocity, duration_token;  // these two as places in their grids
  bool percussion;
  int64_t end() const { return time + duration; }
};

// The product of doubles that MidiTok's reader rounds: an exact fraction would round some halves the other
// way.
int64_t to_grid(int64_t ticks, double scale) { return int64_t(std::floor(double(ticks) * scale + 0.5)); }

std::vector<GridNote> resample(double scale, std::span<const Note> notes) {
  std::vector<GridNote> out;
  out.reserve(notes.size());
  for (const Note& note : notes) {
    const auto [lowest, highest] =
        note.percussion ? std::pair(kLowestDrum, kHighestDrum) : std::pair(kLowestPitch, kHighestPitch);
    if (note.pitch < lowest || note.pitch > highest) continue;
    const int64_t duration =
        std::clamp<int64_t>(to_grid(note.duration, scale), 1, int64_t(kGrids.duration_of.size()) - 1);
    const uint8_t token = kGrids.duration_of[size_t(duration)];
    out.push_back({to_grid(note.time, scale), kGrids.durations[token], note.pitch,
                   kGrids.velocity_of[note.velocity], token, note.percussion});
  }
  return out;
}

struct Event {
  int64_t time;
  uint16_t token;
};

// One tempo at each time, the last that is set there, and one at time 0 in any case.
std::vector<Event> tempo_events(double scale, std::span<const Tempo> tempos) {
  std::vector<Event> out;
  for (const Tempo& tempo : tempos) {
    const Event event{to_grid(tempo.time, scale), uint16_t(kTempo + kGrids.tempo_of(tempo.microseconds))};
    if (!out.empty() && out.back().time == event.time)
      out.back() = event;
    else
      out.push_back(event);
  }
  if (out.empty() || out.front().time != 0)
    out.insert(out.begin(), {0, uint16_t(kTempo + kGrids.default_tempo)});
  return out;
}

// The chord that these notes are, read from the first of them up in their order, or none.
const Chord* find_chord(std::span<const GridNote> notes) {
  for (const Chord& chord : kChords) {
    if (chord.size != notes.size()) continue;
    size_t fit = 0;
    while (fit < chord.size && notes[fit].pitch - notes[0].pitch == chord.intervals[fit]) ++fit;
    if (fit == chord.size) return &chord;
  }
  return nullptr;
}

// Notes that begin within a tick of each other and end within half a beat may be a chord; of short notes,
// those that begin together.
std::vector<Event> chord_events(std::span<const GridNote> notes) {
  std::vector<Event> out;
  int64_t handled = -1;
  for (size_t at = 0; at < notes.size();) {
    const GridNote& first = notes[at];
    if (first.time == handled) {
      ++at;
      continue;
    }
    const std::span<const GridNote> ahead = notes.subspan(at, std::min(kLookAhead, notes.size() - at));
    const auto begin_by = [&](int64_t time) {
      return size_t(
          std::find_if(ahead.begin(), ahead.end(), [&](const GridNote& note) { return note.time > time; }) -
          ahead.begin());
    };
    size_t size = begin_by(first.time + 1);
    const auto ends_apart = [&](const GridNote& note) {
      return std::abs(note.end() - first.end()) > kHalfBeat;
    };
    if (std::none_of(ahead.begin(), ahead.begin() + ptrdiff_t(size), ends_apart)) {
      if (first.duration <= kHalfBeat) size = begin_by(first.time);
      if (const Chord* chord = find_chord(ahead.first(size)))
        out.push_back({first.time, uint16_t(kChord + (chord - kChords.data()))});
      handled = ahead[size - 1].time;
    }
    at += size;
  }
  return out;
}

// Tokens in the order of time: a Bar for each bar that begins, and a Position where something happens.
class Writer {
 public:
  explicit Writer(size_t notes) { tokens_.reserve(5 * notes + 16); }
  void move_to(int64_t time) {
    if (time == time_) return;
    time_ = time;
    for (; bar_ < time / kBarTicks; ++bar_) tokens_.push_back(kBar);
    tokens_.push_back(uint16_t(kPosition + time % kBarTicks));
  }
  void put(const Event& event) {
    move_to(event.time);
    tokens_.push_back(event.token);
  }
  void put(const GridNote& note) {
    move_to(note.time);
    tokens_.push_back(
        uint16_t(note.percussion ? kDrum + note.pitch - kLowestDrum : kPitch + note.pitch - kLowestPitch));
    tokens_.push_back(uint16_t(kVelocity + note.velocity));
    tokens_.push_back(uint16_t(kDuration + note.duration_token));
  }
  std::vector<uint16_t> finish() { return std::move(tokens_); }

 private:
  std::vector<uint16_t> tokens_;
  int64_t time_ = -1, bar_ = -1;
};

}  // namespace

std::vector<uint16_t> tokenize(int64_t ticks_per_quarter, std::span<const Note> notes,
                               std::span<const Tempo> tempos) {
  const double scale = double(kPositionsPerBeat) / double(ticks_per_quarter);
  const std::vector<GridNote> grid = resample(scale, notes);
  std::vector<GridNote> pitched;
  std::copy_if(grid.begin(), grid.end(), std::back_inserter(pitched),
               [](const GridNote& note) { return !note.percussion; });
  const std::vector<Event> chords = chord_events(pitched), changes = tempo_events(scale, tempos);
  auto chord = chords.begin(), change = changes.begin();
  Writer out(grid.size());
  for (const GridNote& note : grid) {  // at one time: tempo, chord, notes
    for (; change != changes.end() && change->time <= note.time; ++change) out.put(*change);
    for (; chord != chords.end() && chord->time <= note.time; ++chord) out.put(*chord);
    out.put(note);
  }
  for (; change != changes.end(); ++change) out.put(*change);
  return out.finish();
}

MidiFile piece_of(std::span<const int64_t> tokens) {
  constexpr int64_t kTicks = 60, kDrums = 9;  // in one of our own, and the channel of percussion
  MidiFile out{.ticks_per_quarter = kTicks * kPositionsPerBeat, .notes = {}, .tempos = {}};
  const auto is = [&](size_t at, int64_t first, int64_t behind) {
    return at < tokens.size() && tokens[at] >= first && tokens[at] < behind;
  };
  int64_t bar = -1, now = 0;
  for (size_t at = 0; at < tokens.size() && tokens[at] != kEnd; ++at) {
    const int64_t id = tokens[at];
    const bool drum = is(at, kDrum, kChord);
    if (id == kBar) {
      now = ++bar * kBarTicks;
    } else if (is(at, kPosition, kDrum)) {
      bar = std::max<int64_t>(bar, 0);
      now = bar * kBarTicks + id - kPosition;
    } else if (is(at, kTempo, kVocabulary)) {
      out.tempos.push_back({now * kTicks, std::llround(60e6 / kGrids.tempos[size_t(id - kTempo)])});
    } else if ((drum || is(at, kPitch, kVelocity)) && is(at + 1, kVelocity, kDuration) &&
               is(at + 2, kDuration, kPosition)) {
      const int64_t pitch = drum ? id - kDrum + kLowestDrum : id - kPitch + kLowestPitch;
      out.notes.push_back({now * kTicks, kGrids.durations[size_t(tokens[at + 2] - kDuration)] * kTicks,
                           uint8_t(pitch), uint8_t(kGrids.velocities[size_t(tokens[at + 1] - kVelocity)]),
                           drum, int32_t(drum ? kDrums * 128 : 0)});
      at += 2;
    }
  }
  return out;
}

std::string word(int64_t id) {
  if (id < 0 || id >= kVocabulary)
    throw Error(fmt::format("{} is no REMI token: there are {}", id, kVocabulary));
  static constexpr std::array<const char*, 5> kSpecial = {"PAD_None", "BOS_None", "EOS_None", "MASK_None",
                                                          "Bar_None"};
  if (id < kPitch) return kSpecial[size_t(id)];
  if (id < kVelocity) return fmt::format("Pitch_{}", id - kPitch + kLowestPitch);
  if (id < kDuration) return fmt::format("Velocity_{}", kGrids.velocities[size_t(id - kVelocity)]);
  if (id < kPosition) {  // beats, parts of a beat, parts to the beat
    const int64_t ticks = kGrids.durations[size_t(id - kDuration)], parts = ticks < 32 ? 8 : 4;
    return fmt::format("Duration_{}.{}.{}", ticks / 8, ticks % 8 * parts / 8, parts);
  }
  if (id < kDrum) return fmt::format("Position_{}", id - kPosition);
  if (id < kChord) return fmt::format("PitchDrum_{}", id - kDrum + kLowestDrum);
  if (id < kTempo) return fmt::format("Chord_{}", kChords[size_t(id - kChord)].name);
  const std::string tempo = fmt::format("Tempo_{:.2f}", kGrids.tempos[size_t(id - kTempo)]);
  return tempo.ends_with('0') ? tempo.substr(0, tempo.size() - 1) : tempo;
}

}  // namespace darope::remi
