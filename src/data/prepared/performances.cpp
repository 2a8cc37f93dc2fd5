#include "data/prepared/performances.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/files.h"
#include "data/midi/chunks.h"
#include "data/midi/write_midi.h"
#include "data/prepared/source_files.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestFile = 16 << 20;

Error too_short() {
  return Error(fmt::format(
      "it is too short: a sequence should have about {} tokens; --keep-short of 'midi' takes it as it is",
      remi::kContext / 4));
}

std::string read_midi(const fs::path& file) { return read_file(file, kLargestFile); }

MidiFile parse_piece(const std::string& bytes) {
  MidiFile piece = parse_midi(std::as_bytes(std::span(bytes)));
  if (piece.notes.empty()) throw BadInput("it holds no notes", int64_t(bytes.size()));
  return piece;
}

struct Piece {
  std::string name;
  int64_t notes;
};

struct Collection {
  std::vector<Piece> pieces;  // the files that are sound
  int64_t notes = 0, unclosed = 0;
  double tokens_per_note = 0;  // the mean over the pieces

  void add(const std::string& name, const MidiFile& piece) {
    pieces.push_back({name, int64_t(piece.notes.size())});
    notes += int64_t(piece.notes.size());
    unclosed += piece.unclosed;
    tokens_per_note += (remi::tokens_per_note(piece) - tokens_per_note) / double(pieces.size());
  }
};

// The first of two passes: where a piece is cut depends on all of them.
Collection survey(const fs::path& folder, const std::vector<std::string>& names, Preparation& out) {
  Collection found;
  for (const std::string& name : names) {
    out.advance(name);
    std::string bytes;
    MidiFile piece;
    const bool sound =
        read_or_skip(out, name, [&] { piece = parse_piece(bytes = read_midi(folder / name)); });
    if (!bytes.empty()) out.source(name, bytes);
    if (sound) found.add(name, piece);
  }
  return found;
}

}  // namespace

std::vector<std::string> midi_files(const fs::path& folder, std::span<const std::string_view> endings) {
  if (!fs::is_directory(folder))
    throw Error(fmt::format("{} is no folder: give one that holds {} files", folder.string(),
                            fmt::join(endings, " or ")));
  std::vector<std::string> out;
  for (const SourceFile& file : source_files(folder, {endings.begin(), endings.end()}))
    out.push_back(file.name);
  return out;
}

void prepare_performances(const PrepareRequest& request, const std::vector<std::string>& names,
                          Preparation& out) {
  out.set_vocabulary(remi::kVocabulary);
  out.expect(int64_t(2 * names.size()));
  const Collection found = survey(request.source, names, out);
  std::vector<Piece> usable;
  for (const Piece& piece : found.pieces)
    if (request.keep_short || !remi::is_short(piece.notes, found.tokens_per_note))
      usable.push_back(piece);
    else
      out.skip(piece.name, too_short());
  const std::vector<Split> splits = out.draw_splits(int64_t(usable.size()), request.seed);
  for (size_t i = 0; i < usable.size(); ++i) {
    const std::string& name = usable[i].name;
    out.advance(name);
    std::vector<std::vector<uint16_t>> sequences;
    const auto read = [&] {
      sequences = remi::sequences(parse_piece(read_midi(request.source / name)), found.tokens_per_note,
                                  request.keep_short);
      if (sequences.empty()) throw too_short();
    };
    if (!read_or_skip(out, name, read)) continue;
    for (const std::vector<uint16_t>& sequence : sequences) out.add(splits[i], name, sequence);
  }
  out.option("seed", request.seed);
  if (request.keep_short) out.option("keep_short", true);
  out.fact("pieces", found.pieces.size());
  out.fact("notes", found.notes);
  out.fact("notes_never_let_go", found.unclosed);
  out.fact("tokens_per_note", found.tokens_per_note);
}

// A line for each position at which something happens, in MidiTok's words.
std::string show_events(std::span<const int64_t> tokens) {
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t id = tokens[i];
    const bool position = id >= remi::kPosition && id < remi::kDrum, line = position || id < remi::kPitch;
    if (i > 0) out += line ? '\n' : ' ';
    out += (position ? "  " : "") + remi::word(id);
  }
  return out + "\n";
}

std::string midi_of_events(std::span<const int64_t> tokens) { return write_midi(remi::piece_of(tokens)); }

// By -3 to 3 semitones, uniform over those that keep every note on the piano. Chords, lengths and times stay
// what they are.
Tokens transpose(Tokens tokens, Random* random) {
  if (!random) return tokens;
  const auto pitch = [](int64_t id) { return id >= remi::kPitch && id < remi::kVelocity; };
  int64_t lowest = remi::kVelocity - 1, highest = remi::kPitch;
  for (const int64_t id : tokens)
    if (pitch(id)) lowest = std::min(lowest, id), highest = std::max(highest, id);
  int64_t shift = random->between(-3, 3);
  while (lowest + shift < remi::kPitch || highest + shift >= remi::kVelocity) shift = random->between(-3, 3);
  for (int64_t& id : tokens)
    if (pitch(id)) id += shift;
  return tokens;
}

}  // namespace darope
