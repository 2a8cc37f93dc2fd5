#include "data/prepared/recordings.h"

#include <fmt/format.h>

namespace darope {

std::vector<CountedRecording> count_recordings(const std::vector<RecordingSource>& sources,
                                               Preparation& out) {
  out.set_vocabulary(kLevels);
  std::vector<CountedRecording> counted;
  out.expect(2 * int64_t(sources.size()));
  for (const RecordingSource& source : sources) {
    out.advance(source.item);
    read_or_skip(out, source.item, [&] {
      SampleCounts counts = count_samples(source.samples());
      const Scale scale = scale_of(counts);
      counted.push_back({source, {std::move(counts), scale}});
    });
  }
  return counted;
}

void write_recordings(const std::vector<CountedRecording>& recordings, Preparation& out) {
  std::vector<Recording> train;
  for (const CountedRecording& each : recordings)
    if (each.source.split == Split::train) train.push_back(each.recording);
  if (train.empty()) throw Error("no recording is left to train on: give more, or sound, input");
  const Boundaries boundaries = find_boundaries(train);
  nlohmann::ordered_json scales;
  for (const auto& [source, recording] : recordings) {
    out.advance(source.item);
    const std::vector<int16_t> samples = source.samples();
    if (int64_t(samples.size()) != recording.counts.total)
      throw Error(source.item + " changed while it was read", kFailed);
    const std::vector<uint8_t> tokens = quantize(samples, recording.scale, boundaries);
    out.add(source.split, source.item, std::vector<uint16_t>(tokens.begin(), tokens.end()));
    scales[source.item] = {{"median", recording.scale.median}, {"iqr", recording.scale.iqr}};
  }
  out.fact("boundaries", boundaries);
  out.fact("scales", scales);
}

std::vector<int16_t> upright_samples(const EdfFile& file, const EdfSignal& signal) {
  std::vector<int16_t> out = file.samples(signal);
  if (signal.is_inverted())
    for (int16_t& sample : out)
      sample = int16_t(~sample);  // -1 - sample: the same up to an offset, and never out of range
  return out;
}

}  // namespace darope
