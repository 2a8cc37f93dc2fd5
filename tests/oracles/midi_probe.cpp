// Drives the MIDI reader and the REMI tokens for the Python tests beside it and for bench/remi.py.
#include <fmt/format.h>

#include <ctime>

#include "base/files.h"
#include "data/midi/chunks.h"
#include "data/midi/write_midi.h"
#include "probe.h"

namespace darope {
namespace {

MidiFile read_midi(const std::string& name) {
  const std::string bytes = read_file(name);
  return parse_midi(std::as_bytes(std::span(bytes)));
}

std::vector<uint16_t> whole(const std::string& name) {
  const MidiFile file = read_midi(name);
  return remi::tokenize(file.ticks_per_quarter, file.notes, file.tempos);
}

// The count of all tokens and the seconds of the processor from names to tokens.
void measure(Words names) {
  const std::clock_t start = std::clock();
  size_t tokens = 0;
  for (const std::string& name : names) tokens += whole(name).size();
  fmt::print("{} {}\n", tokens, double(std::clock() - start) / CLOCKS_PER_SEC);
}

void print_vocabulary(Words) {
  for (int64_t id = 0; id < remi::kVocabulary; ++id) fmt::print("{}\n", remi::word(id));
}

// A line for each file.
void print_whole(Words names) {
  for (const std::string& name : names) fmt::print("{}\n", fmt::join(whole(name), " "));
}

// A line for each sequence, an empty one behind each file.
void print_sequences(Words words) {
  const double tokens_per_note = std::stod(words[0]);
  for (const std::string& name : words.subspan(1)) {
    for (const auto& sequence : remi::sequences(read_midi(name), tokens_per_note))
      fmt::print("{}\n", fmt::join(sequence, " "));
    fmt::print("\n");
  }
}

// What the tokens of a file tell, as another file.
void write_again(Words words) {
  const std::vector<uint16_t> tokens = whole(words[0]);
  write_file(words[1], write_midi(remi::piece_of(std::vector<int64_t>(tokens.begin(), tokens.end()))));
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  return probe(argc, argv,
               {{"vocabulary", print_vocabulary},
                {"whole FILE...", print_whole},
                {"sequences TOKENS_PER_NOTE FILE...", print_sequences},
                {"write FILE OUT", write_again},
                {"measure FILE...", measure}});
}
