// Drives the readers of EDF and FASTA for the Python tests beside it.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "base/files.h"
#include "base/json.h"
#include "data/eeg/edf.h"
#include "data/genome/fasta.h"
#include "data/genome/sixmers.h"
#include "probe.h"

namespace darope {
namespace {

// A file's header, the sha256 of each signal's digital values, and all annotations.
void print_edf(const std::string& path) {
  const MappedFile mapped(path);
  const EdfFile file(mapped.bytes());
  Json out{{"patient", file.patient()},
           {"start", file.start()},
           {"signals", Json::array()},
           {"annotations", Json::array()}};
  for (const EdfSignal& signal : file.signals()) {
    if (signal.is_annotations()) continue;
    const std::vector<int16_t> samples = file.samples(signal);
    out["signals"].push_back(
        {{"label", signal.label},
         {"rate", file.rate(signal)},
         {"samples", samples.size()},
         {"physical_min", signal.physical_min},
         {"physical_max", signal.physical_max},
         {"digital_min", signal.digital_min},
         {"digital_max", signal.digital_max},
         {"sha256", sha256({reinterpret_cast<const char*>(samples.data()), 2 * samples.size()})}});
  }
  for (const EdfAnnotation& each : file.annotations())
    out["annotations"].push_back({each.onset, each.duration, each.text});
  fmt::print("{}\n", out.dump());
}

// The description, the length and all tokens of each record, a line each.
void print_sixmers(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> records;
  read_fasta(path, {},
             {.record = [&](std::string_view description, int64_t) { records.emplace_back(description, ""); },
              .bases = [&](std::string_view bases) { records.back().second += bases; }});
  for (const auto& [description, bases] : records) {
    std::vector<int64_t> tokens(bases.size());
    tokens.resize(tokenize_bases(bases, tokens));
    fmt::print("{}\n{}\n{}\n", description, bases.size(), fmt::join(tokens, " "));
  }
}

double seconds_of(const auto& work) {  // the processor's, so that others on the machine do not count
  const std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

// Seconds to read a file's bytes, to parse it into bases, and to make tokens of these bases window by window;
// then the tokens' number and sum, by which another can tell that it made the same.
void measure_sixmers(const std::string& path) {
  std::string bases;
  const double read = seconds_of([&] {
    const Descriptor file(path, O_RDONLY);
    std::vector<char> piece(1 << 20);
    while (::read(file.get(), piece.data(), piece.size()) > 0) {
    }
  });
  const double parse = seconds_of([&] {
    read_fasta(
        path, {},
        {.record = [](std::string_view, int64_t) {}, .bases = [&](std::string_view more) { bases += more; }});
  });
  std::vector<int64_t> tokens(1000);
  int64_t count = 0, sum = 0;
  const double tokenize = seconds_of([&] {
    for (size_t i = 0; i + 6100 <= bases.size(); i += 6050) {
      const size_t made = tokenize_bases(std::string_view(bases).substr(i, 6100), tokens);
      count += int64_t(made);
      sum += tokens[0] + tokens[made - 1];
    }
  });
  fmt::print("{} {} {} {} {}\n", read, parse, tokenize, count, sum);
}

}  // namespace
}  // namespace darope

int main(int argc, char** argv) {
  using namespace darope;
  return probe(argc, argv,
               {{"edf FILE", [](Words words) { print_edf(words[0]); }},
                {"sixmers FILE", [](Words words) { print_sixmers(words[0]); }},
                {"measure FILE", [](Words words) { measure_sixmers(words[0]); }}});
}
