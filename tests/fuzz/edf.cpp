#include "data/eeg/edf.h"

#include "data/eeg/quantize.h"
#include "data/eeg/sleep.h"
#include "fuzz.h"

// The header, every signal, every annotation, and what a night's preparation makes of them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  may_refuse([&] {
    const EdfFile file(std::as_bytes(std::span(data, size)));
    std::vector<Recording> recordings;
    for (const EdfSignal& signal : file.signals()) {
      const std::vector<int16_t> samples = file.samples(signal);
      must(2 * samples.size() <= size);
      may_refuse([&] { must(file.rate(signal) >= 0); });
      may_refuse([&] {
        const SampleCounts counts = count_samples(samples);
        recordings.push_back({counts, scale_of(counts)});
      });
    }
    may_refuse([&] {
      const Boundaries boundaries = find_boundaries(recordings);
      for (size_t k = 1; k < boundaries.size(); ++k) must(boundaries[k - 1] <= boundaries[k]);
    });
    may_refuse([&] { age_of(file.patient()); });
    const std::vector<EdfAnnotation> annotations = file.annotations();
    for (const EdfAnnotation& each : annotations) must(!each.text.empty());
    const auto [begin, end] = sleep_range(annotations, 100, 1'000'000);
    must(begin >= 0 && begin <= end && end <= 1'000'000);
  });
  return 0;
}
