#include "stats/simultaneous.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace darope::stats {
namespace {

constexpr double kShareTogether = 0.25;

// The quantile of the largest |T| over some of the pairs.
double largest_t(const std::vector<const TaskEstimate*>& tasks, size_t pairs,
                 const std::vector<size_t>& among, double confidence) {
  Values largest(Noise::kRepeats);
  for (size_t r = 0; r < Noise::kRepeats; ++r)
    for (const size_t p : among) {
      double difference = 0, variance = 0;
      for (const TaskEstimate* task : tasks) {
        difference += double(task->differences[r * pairs + p]);
        variance += double(task->variances[r * pairs + p]);
      }
      if (variance > 0) largest[r] = std::max(largest[r], difference * difference / variance);
    }
  // Of so many draws the quantile itself is known to a few places only: the upper end of what it may be (95
  // %).
  const double draws = double(Noise::kRepeats);
  const double at = draws * confidence + 1.645 * std::sqrt(draws * confidence * (1 - confidence));
  const size_t place = std::min(Noise::kRepeats, size_t(std::ceil(at))) - 1;
  std::nth_element(largest.begin(), largest.begin() + ptrdiff_t(place), largest.end());
  return std::sqrt(largest[place]);
}

SuitePair sum_of(const std::vector<const TaskEstimate*>& tasks, size_t first, size_t second, size_t p) {
  SuitePair sum;
  sum.first = first;
  sum.second = second;
  sum.seeds = tasks.front()->pairs[p].seeds;
  const double weight = 1 / double(tasks.size());
  double of_runs = 0, of_examples = 0;
  for (const TaskEstimate* task : tasks) {
    const TaskEstimate::Pair& pair = task->pairs[p];
    const double runs = pair.runs * weight * weight, examples = pair.examples * weight * weight;
    sum.seeds = std::min(sum.seeds, pair.seeds);
    sum.difference += pair.difference * weight;
    sum.runs += runs;
    sum.examples += examples;
    if (runs > 0) of_runs += runs * runs / pair.runs_df;
    if (examples > 0) of_examples += examples * examples / pair.examples_df;
  }
  const double variance = sum.runs + sum.examples;
  if (variance > 0) sum.df = variance * variance / (of_runs + of_examples);
  if (sum.runs > 0) sum.runs_df = sum.runs * sum.runs / of_runs;
  if (sum.examples > 0) sum.examples_df = sum.examples * sum.examples / of_examples;
  return sum;
}

// What a single pair needs. Each part with its own degrees of freedom (Cochran's approximate t), since
// Satterthwaite's for the sum trust a part that happens to look small: of two seeds, one in six does.
double least_critical(const SuitePair& pair, double confidence) {
  double sum = 0;
  if (pair.runs > 0) sum += pair.runs * std::pow(t_quantile(confidence, pair.runs_df), 2);
  if (pair.examples > 0) sum += pair.examples * std::pow(t_quantile(confidence, pair.examples_df), 2);
  return std::sqrt(sum / (pair.runs + pair.examples));
}

bool stands_apart(const std::vector<const TaskEstimate*>& tasks, const SuitePair& pair) {
  return std::any_of(tasks.begin(), tasks.end(), [&](const TaskEstimate* task) {
    return task->apart[pair.first] || task->apart[pair.second];
  });
}

void set_critical(const std::vector<const TaskEstimate*>& tasks, const std::vector<size_t>& among,
                  double confidence, double confidence_among, std::vector<SuitePair>& pairs) {
  if (among.empty()) return;
  const double largest = largest_t(tasks, pairs.size(), among, confidence_among);
  for (const size_t p : among) pairs[p].critical = std::max(largest, least_critical(pairs[p], confidence));
}

}  // namespace

double SuitePair::standard_error() const { return std::sqrt(runs + examples); }

std::vector<SuitePair> simultaneous(const std::vector<const TaskEstimate*>& tasks, double confidence) {
  if (tasks.empty()) throw Error("a comparison needs a task");
  std::vector<SuitePair> pairs;
  const size_t encodings = tasks.front()->encodings;
  for (const TaskEstimate* task : tasks)
    if (task->encodings != encodings) throw Error("the tasks of a suite need the same encodings");
  for (size_t a = 0; a < encodings; ++a)
    for (size_t b = a + 1; b < encodings; ++b) pairs.push_back(sum_of(tasks, a, b, pairs.size()));
  // Pairs with an encoding that stands apart have a critical value of their own, so that its few runs do not
  // widen the intervals of the others. These get the smaller share of what may go wrong: most is spent where
  // an unsteady encoding happens to look steady.
  std::vector<size_t> together, apart;
  for (size_t p = 0; p < pairs.size(); ++p)
    if (pairs[p].df > 0) (stands_apart(tasks, pairs[p]) ? apart : together).push_back(p);
  const double share = together.empty() || apart.empty() ? 1 : kShareTogether;
  set_critical(tasks, together, confidence, 1 - (1 - confidence) * share, pairs);
  set_critical(tasks, apart, confidence, 1 - (1 - confidence) * (together.empty() ? 1 : 1 - share), pairs);
  return pairs;
}

}  // namespace darope::stats
