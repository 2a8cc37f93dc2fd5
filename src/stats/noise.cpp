#include "stats/noise.h"

#include <cmath>

#include "base/random.h"

namespace darope::stats {
namespace {

constexpr uint64_t kSeed = 20260101;
constexpr double kPriorDf = 2;  // of the runs' variance, as in RunVariance

// Chi-square over its degrees of freedom (Marsaglia and Tsang 2000).
double scaled_chi_square(Random& random, double df) {
  const double shape = df / 2, boosted = shape < 1 ? shape + 1 : shape;
  const double d = boosted - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3), u = 1 - random.uniform();
    if (v <= 0 || std::log(u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    const double smaller = shape < 1 ? std::pow(1 - random.uniform(), 1 / shape) : 1;
    return d * v * smaller / shape;
  }
}

}  // namespace

Noise::Kept Noise::make(const Shape& shape) {
  const size_t pairs = shape.encodings * (shape.encodings - 1) / 2;
  const double run_df = double(shape.seeds) - 1 + kPriorDf, example_df = double(shape.clusters) - 1;
  const auto filled = [&](const char* purpose, size_t each, const auto& next) {
    Random random(kSeed, purpose, shape.task);
    std::vector<float> values(kRepeats * each);
    for (float& value : values) value = float(next(random));
    return values;
  };
  const auto normal = [](Random& random) { return random.normal(); };
  Kept kept;
  kept.runs = filled("stats/runs", shape.encodings * shape.seeds, normal);
  kept.examples = filled("stats/examples", shape.encodings, normal);
  kept.run_sd = filled("stats/run sd", shape.encodings,
                       [&](Random& random) { return 1 / std::sqrt(scaled_chi_square(random, run_df)); });
  kept.example_variance = filled("stats/example variance", pairs, [&](Random& random) {
    return example_df > 0 ? scaled_chi_square(random, example_df) : 0;
  });
  return kept;
}

Noise::Draw Noise::draw(const Shape& shape, size_t repeat) {
  auto found = kept_.find(shape);
  if (found == kept_.end()) found = kept_.emplace(shape, make(shape)).first;
  const Kept& kept = found->second;
  const size_t encodings = shape.encodings, pairs = encodings * (encodings - 1) / 2;
  return {kept.runs.data() + repeat * encodings * shape.seeds, kept.examples.data() + repeat * encodings,
          kept.run_sd.data() + repeat * encodings, kept.example_variance.data() + repeat * pairs};
}

}  // namespace darope::stats
