#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
#include "data/midi/write_midi.h"
#include "data/prepared/define.h"
#include "data/prepared/preparation.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kVoices = 4;  // soprano, alto, tenor, bass
constexpr int64_t kSilence = 1, kLowest = 21, kHighest = 108, kFirstPitch = 2, kVocabulary = 90;  // 0 pads
constexpr const char* kPublished = "Jsb16thSeparated.json";
// The publisher's names of our splits.
constexpr std::array<std::pair<const char*, Split>, 3> kParts = {
    {{"train", Split::train}, {"valid", Split::validation}, {"test", Split::test}}};

uint16_t token_of(const Json& note, size_t step) {
  if (!note.is_number_integer())
    throw Error(fmt::format("step {} holds {}, which is no MIDI number", step, note.dump().substr(0, 40)));
  if (note == -1) return kSilence;
  if (note < kLowest || note > kHighest)
    throw Error(fmt::format("step {} holds the note {}; a piano has {} to {}, and -1 is silence", step,
                            note.dump(), kLowest, kHighest));
  return uint16_t(note.get<int64_t>() - kLowest + kFirstPitch);
}

// Token 4t + v is voice v at step t.
std::vector<uint16_t> tokens_of(const Json& piece) {
  if (!piece.is_array() || piece.empty()) throw Error("a piece should be a list of steps, with at least one");
  std::vector<uint16_t> out;
  for (size_t step = 0; step < piece.size(); ++step) {
    if (!piece[step].is_array() || piece[step].size() != kVoices)
      throw Error(fmt::format("step {} should have {} voices: the file with voices apart is {}", step,
                              kVoices, kPublished));
    for (const Json& note : piece[step]) out.push_back(token_of(note, step));
  }
  return out;
}

void prepare_jsb(const PrepareRequest& request, Preparation& out) {
  out.set_vocabulary(kVocabulary);
  const fs::path file = fs::is_directory(request.source) ? request.source / kPublished : request.source;
  const std::string text = read_file(file);
  out.source(file.filename().string(), text);
  const Json json = parse_json(text, file.string());
  for (const auto& [part, split] : kParts) {
    if (!json.is_object() || !json.contains(part) || !json[part].is_array())
      throw Error(fmt::format("{} should be an object with train, valid and test, each a list of pieces",
                              file.string()));
    const Json& pieces = json[part];
    for (size_t i = 0; i < pieces.size(); ++i) {
      const std::string id = fmt::format("{}/{}", part, i);
      std::vector<uint16_t> tokens;
      if (read_or_skip(out, id, [&] { tokens = tokens_of(pieces[i]); })) out.add(split, id, tokens);
    }
  }
}

// "C4", "Bb3"; "." is silence.
std::string word_of_note(int64_t token) {
  static constexpr std::array<const char*, 12> kNames = {"C",  "C#", "D",  "Eb", "E",  "F",
                                                         "F#", "G",  "Ab", "A",  "Bb", "B"};
  if (token < kFirstPitch) return token == kSilence ? "." : "pad";
  const int64_t pitch = token - kFirstPitch + kLowest;
  return fmt::format("{}{}", kNames[size_t(pitch % 12)], pitch / 12 - 1);
}

// A line for each sixteenth, a column for each voice.
std::string show_chorale(std::span<const int64_t> tokens) {
  std::string out = fmt::format("{:>5}  {:<9}{:<9}{:<9}{:<9}\n", "step", "soprano", "alto", "tenor", "bass");
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % kVoices == 0) out += fmt::format("{:>5}  ", i / kVoices);
    out += fmt::format("{:<9}", word_of_note(tokens[i]));
    if (i % kVoices == kVoices - 1 || i + 1 == tokens.size()) out += '\n';
  }
  return out;
}

// A note that a voice has again in the next step is held.
std::string midi_of_chorale(std::span<const int64_t> tokens) {
  constexpr int64_t kTicks = 120, kQuarter = 480;  // of a step, a sixteenth
  constexpr uint8_t kLoudness = 80;
  MidiFile piece{.ticks_per_quarter = kQuarter, .notes = {}, .tempos = {}};
  for (size_t voice = 0; voice < kVoices; ++voice)
    for (size_t i = voice; i < tokens.size(); i += kVoices) {
      const size_t begin = i;
      while (i + kVoices < tokens.size() && tokens[i + kVoices] == tokens[begin]) i += kVoices;
      if (tokens[begin] >= kFirstPitch)
        piece.notes.push_back({int64_t(begin / kVoices) * kTicks, int64_t((i - begin) / kVoices + 1) * kTicks,
                               uint8_t(tokens[begin] - kFirstPitch + kLowest), kLoudness, false,
                               int32_t(voice) * 128});
    }
  return write_midi(piece);
}

}  // namespace

struct Jsb {
  static constexpr Kind kind{.name = "jsb",
                             .source = "JSB Chorales: Jsb16thSeparated.json, or the folder it lies in",
                             .items = "pieces",
                             .prepare = prepare_jsb,
                             .show = show_chorale,
                             .word = word_of_note,
                             .midi = midi_of_chorale};
};
template Kind kind_of<Jsb>();

}  // namespace darope
