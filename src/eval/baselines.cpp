#include "eval/baselines.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace darope {
namespace {

constexpr int64_t kMostTokens = 1'000'000, kMostBatches = 10'000, kAtOnce = 64;

// Calls use(before, token, row) for every scored token of a batch.
template <class Use>
void each_scored(const Batch& batch, const Use& use) {
  const int64_t rows = batch.tokens.size(0), length = batch.tokens.size(1);
  const int64_t *tokens = batch.tokens.const_data_ptr<int64_t>(),
                *targets = batch.targets.const_data_ptr<int64_t>();
  const float* weight = batch.weight.const_data_ptr<float>();
  for (int64_t i = 0; i < rows * length; ++i)
    if (weight[i] > 0) use(tokens[i], targets[i], i / length);
}

// Tokens and pairs of them. A pair that never occurred falls back on its token, by as much as tokens after
// the first one were new (Witten and Bell); a token that never occurred counts as half of one.
class Counts {
 public:
  explicit Counts(int64_t vocabulary)
      : tokens_(size_t(vocabulary)), followers_(size_t(vocabulary)), kinds_(size_t(vocabulary)) {}

  void add(int64_t before, int64_t token) {
    ++tokens_[size_t(token)], ++all_, ++followers_[size_t(before)];
    if (++pairs_[key(before, token)] == 1) ++kinds_[size_t(before)];
  }
  int64_t size() const { return all_; }
  double unigram(int64_t token) const {
    return (double(tokens_[size_t(token)]) + 0.5) / (double(all_) + 0.5 * double(tokens_.size()));
  }
  double bigram(int64_t before, int64_t token) const {
    const double kinds = double(kinds_[size_t(before)]), seen = double(followers_[size_t(before)]);
    if (seen == 0) return unigram(token);
    const auto pair = pairs_.find(key(before, token));
    return (double(pair == pairs_.end() ? 0 : pair->second) + kinds * unigram(token)) / (seen + kinds);
  }

 private:
  uint64_t key(int64_t before, int64_t token) const {
    return uint64_t(before) * uint64_t(tokens_.size()) + uint64_t(token);
  }
  std::vector<int64_t> tokens_, followers_, kinds_;
  std::unordered_map<uint64_t, int64_t> pairs_;
  int64_t all_ = 0;
};

}  // namespace

std::map<std::string, std::map<double, double>> losses_of_counting(const Dataset& data) {
  Counts counts(data.vocabulary);
  for (int64_t i = 0; i < kMostBatches && counts.size() < kMostTokens; ++i)
    each_scored(data.train->at(i),
                [&](int64_t before, int64_t token, int64_t) { counts.add(before, token); });
  std::map<std::string, std::map<double, double>> out;
  for (const TestLength& test : data.tests) {
    double unigram = 0, bigram = 0;  // each example of the same weight, as in a model's loss
    for (int64_t first = 0; first < test.set->size(); first += kAtOnce) {
      const Batch batch = test.set->read(first, std::min(kAtOnce, test.set->size() - first));
      std::vector<double> one(size_t(batch.tokens.size(0))), two(one), tokens(one);
      each_scored(batch, [&](int64_t before, int64_t token, int64_t row) {
        one[size_t(row)] -= std::log(counts.unigram(token));
        two[size_t(row)] -= std::log(counts.bigram(before, token));
        ++tokens[size_t(row)];
      });
      for (size_t row = 0; row < one.size(); ++row)
        unigram += one[row] / tokens[row], bigram += two[row] / tokens[row];
    }
    out["unigram"][double(test.multiple)] = unigram / double(test.set->size());
    out["bigram"][double(test.multiple)] = bigram / double(test.set->size());
  }
  return out;
}

}  // namespace darope
