// Drives the MIDI reader and the REMI tokens for the Python tests beside it and for bench/remi.py.
#include <fmt/format.h>

#include <ctime>

#include "base/files.h"
#include "data/bad_input.h"
#include "data/midi/chunks.h"

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
void measure(std::span<const std::string> names) {
  const std::clock_t start = std::clock();
  size_t tokens = 0;
  for (const std::string& name : names) tokens += whole(name).size();
  fmt::print("{} {}\n", tokens, double(std::clock() - start) / CLOCKS_PER_SEC);
}

void probe(const std::vector<std::string>& words) {
  const std::span<const std::string> names = std::span(words).subspan(1);
  if (words[0] == "vocabulary")
    for (int64_t id = 0; id < remi::kVocabulary; ++id) fmt::print("{}\n", remi::word(id));
  else if (words[0] == "whole")  // a line for each file
    for (const std::string& name : names) fmt::print("{}\n", fmt::join(whole(name), " "));
  else if (words[0] == "sequences")  // a line for each sequence, an empty one behind each file
    for (const std::string& name : names.subspan(1)) {
      for (const auto& sequence : remi::sequences(read_midi(name), std::stod(names[0])))
        fmt::print("{}\n", fmt::join(sequence, " "));
      fmt::print("\n");
    }
  else if (words[0] == "measure")
    measure(names);
  else
    throw Error(
        "midi_probe vocabulary | whole FILE... | sequences TOKENS_PER_NOTE FILE... | measure FILE...");
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  try {
    probe(argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>{""});
  } catch (const BadInput& e) {
    fmt::print(stderr, "byte {}: {}\n", e.offset(), e.what());
    return e.code();
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return e.code();
  }
}
