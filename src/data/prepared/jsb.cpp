#include <fmt/format.h>

#include "base/files.h"
#include "base/json.h"
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

// A line for each sixteenth, a column for each voice; "." is silence.
std::string show_chorale(std::span<const int64_t> tokens) {
  static constexpr std::array<const char*, 12> kNames = {"C",  "C#", "D",  "Eb", "E",  "F",
                                                         "F#", "G",  "Ab", "A",  "Bb", "B"};
  std::string out = fmt::format("{:>5}  {:<9}{:<9}{:<9}{:<9}\n", "step", "soprano", "alto", "tenor", "bass");
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t pitch = tokens[i] - kFirstPitch + kLowest;
    if (i % kVoices == 0) out += fmt::format("{:>5}  ", i / kVoices);
    out += fmt::format("{:<9}", tokens[i] < kFirstPitch
                                    ? "."
                                    : fmt::format("{}{}", kNames[size_t(pitch % 12)], pitch / 12 - 1));
    if (i % kVoices == kVoices - 1 || i + 1 == tokens.size()) out += '\n';
  }
  return out;
}

}  // namespace

struct Jsb {
  static constexpr Kind kind{.name = "jsb",
                             .source = "JSB Chorales: Jsb16thSeparated.json, or the folder it lies in",
                             .items = "pieces",
                             .prepare = prepare_jsb,
                             .show = show_chorale};
};
template Kind kind_of<Jsb>();

}  // namespace darope
