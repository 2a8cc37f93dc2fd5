#include "report/falling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/text.h"

namespace darope::report {
namespace {

constexpr size_t kFewest = 20;      // points of a curve that tell anything
constexpr double kErrors = 3;       // standard errors by which a fall must stand out
constexpr double kManyMargins = 5;  // a fall of so many margins could turn verdicts round
constexpr double kShare = 0.05;     // of the loss itself, where answers are compared and not losses
constexpr double kLearned = 0.01;   // nats: below, hardly an answer can turn

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

struct Fall {
  double by, from;
};

// How far the loss fell from the fifth before the last to the last fifth of the steps; by 0 where noise hides
// it. Nothing where too few points tell.
std::optional<Fall> fall(const std::vector<CurvePoint>& curve) {
  if (curve.size() < kFewest) return std::nullopt;
  const auto fifth = std::ptrdiff_t(curve.size() / 5);
  const Mean before = mean_of(curve.end() - 2 * fifth, curve.end() - fifth),
             after = mean_of(curve.end() - fifth, curve.end());
  const double by = before.value - after.value;
  return Fall{by > kErrors * std::sqrt(before.error2 + after.error2) ? by : 0, before.value};
}

bool is_large(const Fall& mean, const Dataset& dataset) {
  if (!dataset.metric.higher_better) return mean.by > kManyMargins * dataset.margin;
  return mean.by > kShare * mean.from && mean.from - mean.by > kLearned;
}

}  // namespace

std::vector<std::string> still_falling(const Gathered& all, const Summary& summary) {
  std::vector<std::string> notes;
  std::vector<std::string> untold;
  for (const Dataset& dataset : summary.datasets) {
    if (dataset.metric.name.empty()) continue;
    std::vector<std::string> falling;
    bool told = true;
    for (const std::string& encoding : summary.encodings) {
      Fall mean{0, 0};
      double runs = 0;
      for (const Run* run : all.runs_of(dataset.name, encoding)) {
        if (run->diverged || !run->weights_of.empty()) continue;
        const std::optional<Fall> its = fall(run->curve);
        told &= its.has_value() || !run->evaluation.empty();
        if (its) mean.by += its->by, mean.from += its->from, ++runs;
      }
      mean.by /= runs, mean.from /= runs;
      if (runs > 0 && is_large(mean, dataset))
        falling.push_back(fmt::format("{} by {:.3f}", encoding, mean.by));
    }
    if (!told) untold.push_back(dataset.name);
    if (!falling.empty())
      notes.push_back(fmt::format(
          "On {} the training loss was still falling over the last fifth of the steps ({} nats): these runs "
          "are far from done, and more steps may turn the order round.",
          dataset.name, fmt::join(falling, ", ")));
  }
  if (!untold.empty())
    notes.push_back(
        fmt::format("There are too few logged steps to tell whether the training loss was still "
                    "falling on {}: it takes {} (logging.freq).",
                    and_list(untold), kFewest));
  return notes;
}

}  // namespace darope::report
