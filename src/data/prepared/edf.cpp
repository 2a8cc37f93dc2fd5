#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "data/prepared/define.h"
#include "data/prepared/recordings.h"

namespace darope {
namespace {

// The labels of the first file, for whoever has not named one.
[[noreturn]] void ask_for_channel(const SourceFile& file) {
  const MappedFile mapped(file.path);
  const EdfFile edf(mapped.bytes());
  std::vector<std::string> labels;
  for (const EdfSignal& signal : edf.signals())
    if (!signal.is_annotations()) labels.push_back(signal.label);
  throw Error(fmt::format("--channel is missing: {} has {}", file.name, fmt::join(labels, ", ")));
}

constexpr std::array<std::string_view, 1> kEdfEndings = {".edf"};

using Groups = std::vector<std::vector<CountedRecording*>>;  // what goes to one split together
using Codes = std::map<std::string, std::string>;            // of patients, by item

bool have_several(const Groups& groups) {
  return !groups.empty() && std::ranges::all_of(groups, [](const auto& each) { return each.size() > 1; });
}

// The recordings of each patient, where headers name enough of them for three splits, else each by itself.
Groups groups_of(std::vector<CountedRecording>& counted, Codes& codes, Preparation& out) {
  std::map<std::string, std::vector<CountedRecording*>> by_patient;  // one without a code stands alone
  Groups by_file, groups;
  bool named = false;
  for (CountedRecording& each : counted) {
    const std::string& code = codes[each.source.item];
    named |= !code.empty();
    by_patient[code.empty() ? each.source.item : code].push_back(&each);
    by_file.push_back({&each});
  }
  for (const auto& [code, recordings] : by_patient) groups.push_back(recordings);
  if (named && int64_t(groups.size()) >= fewest_to_split(have_several(groups))) {
    out.option("split", "by the patient of the header");
    return groups;
  }
  out.option("split",
             named ? "by file: the headers name too few patients" : "by file: the headers name no patient");
  if (named)
    out.caution(
        fmt::format("training and test have recordings of the same people: {} patients are too few "
                    "for three splits, so that files were split",
                    groups.size()));
  return by_file;
}

void prepare_edf(const PrepareRequest& request, Preparation& out) {
  std::vector<RecordingSource> sources;
  Codes codes;
  double rate = 0;  // of the first file that can be read; the others must have the same
  for (const SourceFile& file : source_files(request.source, {kEdfEndings.begin(), kEdfEndings.end()})) {
    if (request.channel.empty()) ask_for_channel(file);
    out.source_file(file.name, file.path);
    sources.push_back(
        {file.name, [path = file.path, name = file.name, channel = request.channel, &rate, &codes] {
           const MappedFile mapped(path);
           const EdfFile edf(mapped.bytes());
           codes[name] = edf.patient_code();
           const EdfSignal& signal = edf.signal(channel);
           if (rate == 0) rate = edf.rate(signal);
           if (edf.rate(signal) != rate)
             throw Error(
                 fmt::format("{} samples a second; the files before it have {}", edf.rate(signal), rate));
           return upright_samples(edf, signal);
         }});
  }
  std::vector<CountedRecording> counted = count_recordings(sources, out);
  const auto groups = groups_of(counted, codes, out);
  const std::vector<Split> splits =
      out.draw_splits(int64_t(groups.size()), request.seed, have_several(groups));
  for (size_t i = 0; i < groups.size(); ++i)
    for (CountedRecording* each : groups[i]) each->source.split = splits[i];
  out.option("channel", request.channel);
  out.option("seed", request.seed);
  out.fact("samples_per_second", rate);
  write_recordings(counted, out);
}

}  // namespace

struct Edf {
  static constexpr Kind kind{
      .name = "edf",
      .source = "own EDF files: a folder, split by patient; --channel names the signal",
      .endings = kEdfEndings,
      .items = "recordings",
      .prepare = prepare_edf,
      .show = show_signal,
      .windows = true};
};
template Kind kind_of<Edf>();

}  // namespace darope
