#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace darope {

// How often each digital value occurs in a recording: rising values, nothing at 0.
struct SampleCounts {
  std::vector<int16_t> values;
  std::vector<int64_t> counts;
  int64_t total = 0;
};
SampleCounts count_samples(std::span<const int16_t> samples);

// A recording's own scale: x = (sample - median) / interquartile range, clipped to [-20, 20]. The digital
// values serve as they are, since a gain and an offset would cancel; the quartiles are NumPy's (linear
// interpolation), which makes them exact.
struct Scale {
  double median, iqr;
  double operator()(int sample) const;
};
Scale scale_of(const SampleCounts& counts);  // an Error where the quartiles coincide

struct Recording {
  SampleCounts counts;
  Scale scale;
};

// Token k is for x from the k-th boundary on, below the next: the number of boundaries that are <= x.
inline constexpr int64_t kLevels = 256;
using Boundaries = std::array<double, kLevels - 1>;

// The quantiles 1/256 ... 255/256 of all samples of all recordings, as NumPy's default method gives them,
// without ever laying the samples side by side. Equal boundaries leave tokens that never occur.
Boundaries find_boundaries(const std::vector<Recording>& recordings);

std::vector<uint8_t> quantize(std::span<const int16_t> samples, const Scale& scale,
                              const Boundaries& boundaries);

}  // namespace darope
