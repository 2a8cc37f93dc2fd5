#include "data/eeg/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>

#include "base/error.h"

namespace darope {
namespace {

constexpr size_t kDigitalValues = 1 << 16;
constexpr double kClip = 20;

// A place between two ranks of a sorted list; `share` of the way from the first to the second.
struct Rank {
  int64_t below, above;
  double share;
};
Rank place_of(int64_t total, double p) {
  const double at = double(total - 1) * p;
  const int64_t below = int64_t(at);
  return {below, std::min(below + 1, total - 1), at - double(below)};
}
// As NumPy interpolates: from the nearer end, so that both ends are hit exactly.
double between(double a, double b, double share) {
  return share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);
}

double quantile(const SampleCounts& samples, double p) {
  const Rank place = place_of(samples.total, p);
  const auto at_rank = [&](int64_t rank) {
    size_t i = 0;
    for (; rank >= samples.counts[i]; ++i) rank -= samples.counts[i];
    return double(samples.values[i]);
  };
  return between(at_rank(place.below), at_rank(place.above), place.share);
}

// All samples of all recordings, rising: equal ones of a recording together.
class Merge {
 public:
  explicit Merge(const std::vector<Recording>& recordings)
      : recordings_(recordings), next_(recordings.size(), 0) {
    for (size_t i = 0; i < recordings.size(); ++i) push(i);
  }
  double value_at(int64_t rank) {  // of ranks that never fall
    while (rank >= seen_) {
      const auto [value, recording] = heads_.top();
      heads_.pop();
      value_ = value;
      seen_ += recordings_[recording].counts.counts[next_[recording]++];
      push(recording);
    }
    return value_;
  }

 private:
  void push(size_t recording) {
    const auto& [counts, scale] = recordings_[recording];
    if (next_[recording] < counts.values.size())
      heads_.emplace(scale(counts.values[next_[recording]]), recording);
  }

  using Head = std::pair<double, size_t>;
  const std::vector<Recording>& recordings_;
  std::vector<size_t> next_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
  double value_ = 0;
  int64_t seen_ = 0;
};

}  // namespace

SampleCounts count_samples(std::span<const int16_t> samples) {
  std::vector<int64_t> dense(kDigitalValues);
  for (const int16_t sample : samples) ++dense[size_t(sample - INT16_MIN)];
  SampleCounts out{.values = {}, .counts = {}, .total = int64_t(samples.size())};
  for (size_t i = 0; i < dense.size(); ++i) {
    if (dense[i] == 0) continue;
    out.values.push_back(int16_t(int(i) + INT16_MIN));
    out.counts.push_back(dense[i]);
  }
  return out;
}

double Scale::operator()(int sample) const { return std::clamp((sample - median) / iqr, -kClip, kClip); }

Scale scale_of(const SampleCounts& counts) {
  if (counts.total == 0) throw Error("no sample is left");
  const double first = quantile(counts, 0.25), third = quantile(counts, 0.75);
  if (first == third)
    throw Error(
        fmt::format("half of its {} samples are {}: a flat signal has no scale", counts.total, first));
  return {quantile(counts, 0.5), third - first};
}

Boundaries find_boundaries(const std::vector<Recording>& recordings) {
  int64_t total = 0;
  for (const Recording& each : recordings) total += each.counts.total;
  if (total == 0) throw Error("no sample to find quantiles of");
  std::array<Rank, kLevels - 1> places;
  std::map<int64_t, double> value;  // by rank, in the order of ranks
  for (size_t k = 0; k < places.size(); ++k) {
    places[k] = place_of(total, double(k + 1) / kLevels);
    value[places[k].below] = value[places[k].above] = 0;
  }
  Merge merge(recordings);
  for (auto& [rank, x] : value) x = merge.value_at(rank);
  Boundaries out{};
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = between(value[places[k].below], value[places[k].above], places[k].share);
  return out;
}

std::vector<uint8_t> quantize(std::span<const int16_t> samples, const Scale& scale,
                              const Boundaries& boundaries) {
  std::vector<uint8_t> level(kDigitalValues);
  for (size_t i = 0; i < level.size(); ++i)
    level[i] = uint8_t(std::upper_bound(boundaries.begin(), boundaries.end(), scale(int(i) + INT16_MIN)) -
                       boundaries.begin());
  std::vector<uint8_t> out(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) out[i] = level[size_t(samples[i] - INT16_MIN)];
  return out;
}

}  // namespace darope
