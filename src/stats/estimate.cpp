#include "stats/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/run_variance.h"

namespace darope::stats {
namespace {

Values shared_df(const TaskParts& parts) {
  Values df;
  for (const PairParts& pair : parts.pairs) df.push_back(pair.seeds > 1 ? double(pair.seeds - 1) : 0);
  return df;
}

TaskEstimate::Pair combine(const PairParts& pair, size_t clusters, const Values& run_variance) {
  TaskEstimate::Pair result;
  result.difference = pair.difference;
  result.seeds = pair.seeds;
  result.examples = pair.examples();
  result.examples_df = double(clusters) - 1;
  if (pair.seeds < 2) return result;
  result.runs = (run_variance[pair.first] + run_variance[pair.second]) / double(pair.seeds);
  result.runs_df = double(pair.seeds - 1);
  return result;
}

// Draws the table again and estimates it by the same rule. The spread of the runs is not known, only
// estimated from a few of them, so it is drawn too.
class Redraw {
 public:
  Redraw(const TaskParts& parts, const RunVariance& rule, const Values& run_variance)
      : parts_(parts), rule_(rule), run_sd_(parts.encodings), pair_variance_(parts.pairs.size()) {
    for (const double variance : run_variance) estimated_sd_.push_back(std::sqrt(variance));
    split_examples();
  }

  void once(const Noise::Draw& draw, float* differences, float* variances) {
    for (size_t e = 0; e < parts_.encodings; ++e) run_sd_[e] = estimated_sd_[e] * double(draw.run_sd[e]);
    for (size_t p = 0; p < parts_.pairs.size(); ++p) differences[p] = float(draw_runs(p, draw.runs));
    const Values again = rule_.estimate(pair_variance_).variance;
    for (size_t p = 0; p < parts_.pairs.size(); ++p) {
      const PairParts& pair = parts_.pairs[p];
      const double a = example_sd_[pair.first] * double(draw.examples[pair.first]);
      const double b = example_sd_[pair.second] * double(draw.examples[pair.second]);
      differences[p] += float(example_scale_[p] * (a - b));
      double variance = std::max(0.0, pair.clusters * double(draw.example_variance[p]) - pair.residual);
      if (pair.seeds > 1) variance += (again[pair.first] + again[pair.second]) / double(pair.seeds);
      variances[p] = float(variance);
    }
  }

 private:
  // Each encoding's share of the examples' part, so that pairs with one in common move together.
  void split_examples() {
    Values sums;
    for (const PairParts& pair : parts_.pairs) sums.push_back(pair.examples());
    std::vector<size_t> all(parts_.encodings);
    std::iota(all.begin(), all.end(), size_t{0});
    example_sd_ = split_sums(sums, Values(sums.size(), 1.0), parts_.encodings, all);
    for (double& each : example_sd_) each = std::sqrt(std::max(each, 0.0));
    for (const PairParts& pair : parts_.pairs) {
      const double a = example_sd_[pair.first], b = example_sd_[pair.second], sum = a * a + b * b;
      example_scale_.push_back(sum > 0 ? std::sqrt(pair.examples() / sum) : 0);
    }
  }

  // The mean difference of a pair's runs; their variance is kept for the rule.
  double draw_runs(size_t p, const float* runs) {
    const PairParts& pair = parts_.pairs[p];
    const size_t a = pair.first * parts_.seeds, b = pair.second * parts_.seeds;
    const double n = double(pair.seeds);
    double sum = 0, squares = 0;
    pair_variance_[p] = 0;
    if (pair.seeds < 2) return 0;
    for (size_t s = 0; s < parts_.seeds; ++s) {
      if (!parts_.has[a + s] || !parts_.has[b + s]) continue;
      const double d = run_sd_[pair.first] * double(runs[a + s]) - run_sd_[pair.second] * double(runs[b + s]);
      sum += d;
      squares += d * d;
    }
    pair_variance_[p] = std::max(0.0, squares - sum * sum / n) / (n - 1);
    return sum / n;
  }

  const TaskParts& parts_;
  const RunVariance& rule_;
  Values estimated_sd_, run_sd_, pair_variance_, example_sd_, example_scale_;
};

}  // namespace

TaskEstimate estimate(const TaskParts& parts, size_t task, Noise& noise) {
  const RunVariance rule(parts.encodings, shared_df(parts));
  Values of_pairs;
  for (const PairParts& pair : parts.pairs) of_pairs.push_back(pair.runs);
  const RunVariance::Estimate runs = rule.estimate(of_pairs);
  TaskEstimate result;
  result.encodings = parts.encodings;
  result.apart = runs.apart;
  for (const PairParts& pair : parts.pairs)
    result.pairs.push_back(combine(pair, parts.clusters, runs.variance));

  const size_t pairs = parts.pairs.size();
  result.differences.resize(Noise::kRepeats * pairs);
  result.variances.resize(Noise::kRepeats * pairs);
  const Noise::Shape shape{task, parts.encodings, parts.seeds, parts.clusters};
  Redraw redraw(parts, rule, runs.variance);
  for (size_t r = 0; r < Noise::kRepeats; ++r)
    redraw.once(noise.draw(shape, r), result.differences.data() + r * pairs,
                result.variances.data() + r * pairs);
  return result;
}

}  // namespace darope::stats
