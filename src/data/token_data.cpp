#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "data/open.h"
#include "data/token_windows.h"

namespace darope {
namespace {

constexpr int64_t kBlocks = 32;  // neighbours that are one witness, where there is but one document

// Windows of length + 1 tokens from the given places.
Batch windows_at(const TokenSource& source, const std::vector<int64_t>& places, int64_t length) {
  std::vector<std::vector<int64_t>> windows;
  for (const int64_t place : places) source.read(place, windows.emplace_back(size_t(length) + 1));
  return pack_windows(windows);
}

// Windows from random places of the file's front, drawn by (seed, batch, row).
class TokenStream final : public TrainStream {
 public:
  TokenStream(std::shared_ptr<const TokenSource> source, int64_t end, int64_t rows, int64_t length,
              uint64_t seed)
      : source_(std::move(source)), end_(end), rows_(rows), length_(length), seed_(seed) {}

  Batch at(int64_t index) const override {
    std::vector<int64_t> places;
    for (int64_t row = 0; row < rows_; ++row)
      places.push_back(Random(seed_, "tokens/train", uint64_t(index) << 32 | uint64_t(row))
                           .between(0, end_ - length_ - 1));
    return windows_at(*source_, places, length_);
  }
  int64_t tokens(int64_t) const override { return rows_ * length_; }

 private:
  std::shared_ptr<const TokenSource> source_;
  int64_t end_, rows_, length_;
  uint64_t seed_;
};

class TokenTest final : public TestSet {
 public:
  TokenTest(std::shared_ptr<const TokenSource> source, int64_t begin, int64_t count, int64_t length)
      : source_(std::move(source)), begin_(begin), count_(count), length_(length) {}
  int64_t size() const override { return count_; }

  int64_t cluster(int64_t example) const override {
    const int64_t first = document_at(0);
    if (document_at(count_ - 1) != first) return document_at(example) - first;
    return example * std::min(kBlocks, count_) / count_;
  }

  Batch read(int64_t first, int64_t count) const override {
    std::vector<int64_t> places;
    for (int64_t i = first; i < first + count; ++i) places.push_back(begin_ + i * length_);
    return windows_at(*source_, places, length_);
  }

 private:
  int64_t document_at(int64_t window) const {
    const std::vector<int64_t>& starts = source_->document_starts();
    return std::upper_bound(starts.begin(), starts.end(), begin_ + window * length_) - starts.begin() - 1;
  }

  std::shared_ptr<const TokenSource> source_;
  int64_t begin_, count_, length_;
};

}  // namespace

Batch pack_windows(const std::vector<std::vector<int64_t>>& windows) {
  const int64_t count = int64_t(windows.size()), length = int64_t(windows.at(0).size()) - 1;
  Batch out{at::empty({count, length}, at::kLong), Tensor(), at::empty({count * length}, at::kLong),
            at::ones({count * length})};
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<int64_t>& window = windows[size_t(i)];
    std::copy(window.begin(), window.end() - 1, out.tokens.mutable_data_ptr<int64_t>() + i * length);
    std::copy(window.begin() + 1, window.end(), out.targets.mutable_data_ptr<int64_t>() + i * length);
  }
  return out;
}

std::shared_ptr<const TestSet> test_of_stream(std::shared_ptr<const TokenSource> source, int64_t begin,
                                              int64_t count, int64_t length) {
  return std::make_shared<TokenTest>(std::move(source), begin, count, length);
}

Dataset open_token_file(const DataConfig& config, uint64_t seed) {
  if (!(config.test_share > 0 && config.test_share < 1))
    throw Error(fmt::format("data.test_share is {}: it must be above 0 and below 1", config.test_share));
  const auto source = std::make_shared<const TokenSource>(open_tokens(config.path));
  const int64_t test_tokens = int64_t(std::ceil(config.test_share * double(source->size()))),
                test_begin = source->size() - test_tokens;
  if (test_begin < config.seq_len + 2 || (test_tokens - 1) / config.seq_len < kFewestWindows)
    throw Error(
        fmt::format("{} has {} tokens: too few for a test set of {} windows of {} in its last {:g} %; "
                    "give a longer file or a smaller data.seq_len",
                    config.path, source->size(), kFewestWindows, config.seq_len, 100 * config.test_share));
  Dataset out{
      .name = dataset_name(config),
      .family = "file",
      .vocabulary = source->vocabulary(),
      .measure = Measure::nll,
      .train = std::make_shared<TokenStream>(source, test_begin, config.batch_size, config.seq_len, seed),
      .file = source->file()};
  for (const int64_t multiple : {1, 2, 8}) {
    const int64_t length = multiple * config.seq_len,
                  count = std::min(config.test_examples, (test_tokens - 1) / length);
    if (count >= kFewestWindows)
      out.tests.push_back({multiple, std::make_shared<TokenTest>(source, test_begin, count, length)});
  }
  return out;
}

}  // namespace darope
