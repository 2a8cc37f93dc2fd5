#include <fmt/format.h>

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

void prepare_edf(const PrepareRequest& request, Preparation& out) {
  std::vector<RecordingSource> sources;
  double rate = 0;  // of the first file that can be read; the others must have the same
  for (const SourceFile& file : source_files(request.source, {".edf"})) {
    if (request.channel.empty()) ask_for_channel(file);
    out.source_file(file.name, file.path);
    sources.push_back({file.name, [path = file.path, channel = request.channel, &rate] {
                         const MappedFile mapped(path);
                         const EdfFile edf(mapped.bytes());
                         const EdfSignal& signal = edf.signal(channel);
                         if (rate == 0) rate = edf.rate(signal);
                         if (edf.rate(signal) != rate)
                           throw Error(fmt::format("{} samples a second; the files before it have {}",
                                                   edf.rate(signal), rate));
                         return upright_samples(edf, signal);
                       }});
  }
  std::vector<CountedRecording> counted = count_recordings(sources, out);
  const std::vector<Split> splits = out.draw_splits(int64_t(counted.size()), request.seed);
  for (size_t i = 0; i < counted.size(); ++i) counted[i].source.split = splits[i];
  out.option("channel", request.channel);
  out.option("seed", request.seed);
  out.fact("samples_per_second", rate);
  write_recordings(counted, out);
}

}  // namespace

struct Edf {
  static constexpr Kind kind{.name = "edf",
                             .source = "own EDF files: a folder, split by file; --channel names the signal",
                             .items = "recordings",
                             .prepare = prepare_edf,
                             .show = show_signal,
                             .windows = true};
};
template Kind kind_of<Edf>();

}  // namespace darope
