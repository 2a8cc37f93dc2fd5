#include "report/falling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace darope::report {
namespace {

constexpr size_t kFewest = 20;      // points of a curve that tell anything
constexpr double kErrors = 3;       // standard errors by which a fall must stand out
constexpr double kManyMargins = 5;  // a fall of so many margins could turn verdicts round

struct Mean {
  double value = 0, error2 = 0;
};

Mean mean_of(std::vector<CurvePoint>::const_iterator first, std::vector<CurvePoint>::const_iterator last) {
  const double count = double(last - first);
  Mean out;
  for (auto at = first; at != last; ++at) out.value += at->loss / count;
  for (auto at = first; at != last; ++at)
    out.error2 += (at->loss - out.value) * (at->loss - out.value) / (count * (count - 1));
  return out;
}

// How far the loss fell from the fifth before the last to the last fifth of the steps; 0 where noise hides
// it.
double fall(const std::vector<CurvePoint>& curve) {
  if (curve.size() < kFewest) return 0;
  const auto fifth = std::ptrdiff_t(curve.size() / 5);
  const Mean before = mean_of(curve.end() - 2 * fifth, curve.end() - fifth),
             after = mean_of(curve.end() - fifth, curve.end());
  const double by = before.value - after.value;
  return by > kErrors * std::sqrt(before.error2 + after.error2) ? by : 0;
}

}  // namespace

std::vector<std::string> still_falling(const Gathered& all, const Summary& summary) {
  std::vector<std::string> notes;
  for (const Dataset& dataset : summary.datasets) {
    if (dataset.metric.name.empty() || dataset.metric.higher_better) continue;
    std::vector<std::string> falling;
    for (const std::string& encoding : summary.encodings) {
      double sum = 0, runs = 0;
      for (const Run* run : all.runs_of(dataset.name, encoding))
        if (!run->diverged) sum += fall(run->curve), ++runs;
      if (runs > 0 && sum / runs > kManyMargins * dataset.margin)
        falling.push_back(fmt::format("{} by {:.3f}", encoding, sum / runs));
    }
    if (!falling.empty())
      notes.push_back(fmt::format(
          "On {} the training loss was still falling over the last fifth of the steps ({} nats): these runs "
          "are far from done, and more steps may turn the order round.",
          dataset.name, fmt::join(falling, ", ")));
  }
  return notes;
}

}  // namespace darope::report
