#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>

#include "base/names.h"
#include "data/prepared/define.h"
#include "data/prepared/recordings.h"

namespace darope {
namespace {

constexpr double kRate = 173.61;
constexpr size_t kFewestInSet = 3, kPublishedInSet = 100;

// One whole number to a line.
std::vector<int16_t> read_segment(const std::filesystem::path& path) {
  const std::string text = read_file(path, 1 << 20);
  std::vector<int16_t> out;
  const char *at = text.data(), *end = at + text.size();
  const auto skip_blanks = [&] {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
  };
  for (skip_blanks(); at != end; skip_blanks()) {
    int16_t value = 0;
    const auto [after, problem] = std::from_chars(at, end, value);
    if (problem != std::errc()) {
      const std::string found = shown(std::string_view(at, size_t(end - at)).substr(0, 12));
      throw BadInput("a line should hold a whole number of 16 bits, not " + found, at - text.data());
    }
    out.push_back(value);
    at = after;
  }
  return out;
}

using Sets = std::map<char, std::vector<CountedRecording*>>;  // by the first letter of a file's name

void say_what_is_missing(const Sets& sets, Preparation& out) {
  std::vector<std::string> missing;
  for (const char letter : std::string_view("ZONFS")) {
    const auto found = sets.find(letter);
    const size_t there = found == sets.end() ? 0 : found->second.size();
    if (there < kPublishedInSet)
      missing.push_back(fmt::format("{} of set {}", kPublishedInSet - there, letter));
  }
  if (!missing.empty())
    out.caution(fmt::format("of the {} segments that were published, some are missing: {}",
                            5 * kPublishedInSet, fmt::join(missing, ", ")));
}

// Five sets, told apart by the first letter of a file's name; of each, a tenth of the segments for validation
// and one for test.
void prepare_bonn(const PrepareRequest& request, Preparation& out) {
  std::vector<RecordingSource> sources;
  for (const SourceFile& file : source_files(request.source, {".txt"})) {
    out.source_file(file.name, file.path);
    sources.push_back({file.name, [path = file.path] { return read_segment(path); }});
  }
  std::vector<CountedRecording> counted = count_recordings(sources, out);
  Sets sets;
  for (CountedRecording& each : counted)
    sets[std::filesystem::path(each.source.item).filename().string()[0]].push_back(&each);
  say_what_is_missing(sets, out);
  for (auto& [letter, set] : sets) {
    if (set.size() < kFewestInSet)
      throw Error(fmt::format("set {} has {} segments: too few for three splits", letter, set.size()));
    Random random(request.seed, fmt::format("prepare/bonn/{}", letter));
    for (size_t left = set.size(); left > 1; --left) std::swap(set[left - 1], set[random.below(left)]);
    const size_t share = std::max<size_t>(1, set.size() / 10);
    for (size_t i = 0; i < 2 * share; ++i) set[i]->source.split = i < share ? Split::validation : Split::test;
  }
  out.option("seed", request.seed);
  out.fact("stands_in_for", "sleep-edf: the same tokens and windows, of other recordings");
  out.fact("samples_per_second", kRate);
  write_recordings(counted, out);
}

}  // namespace

struct Bonn {
  static constexpr Kind kind{.name = "bonn",
                             .source = "Bonn EEG: the folder of its 500 text files; a stand-in for sleep-edf",
                             .items = "segments",
                             .prepare = prepare_bonn,
                             .show = show_signal,
                             .windows = true};
};
template Kind kind_of<Bonn>();

}  // namespace darope
