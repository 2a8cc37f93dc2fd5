#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/open.h"
#include "data/prepared/prepared_data.h"
#include "data/told.h"

namespace darope {
namespace {

// Sequences one under the other, cut to `length` and padded at their right. All but the first token of each
// are targets.
Batch pack(const std::vector<Tokens>& sequences, int64_t length) {
  const int64_t count = int64_t(sequences.size());
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  Batch out{at::zeros({count, length}, integers), Tensor(), at::zeros({count * length}, integers),
            at::zeros({count * length})};
  for (int64_t e = 0; e < count; ++e) {
    const Tokens& sequence = sequences[size_t(e)];
    const int64_t size = std::min(length, int64_t(sequence.size()));
    std::copy_n(sequence.begin(), size, out.tokens.mutable_data_ptr<int64_t>() + e * length);
    std::copy_n(sequence.begin() + 1, size - 1, out.targets.mutable_data_ptr<int64_t>() + e * length);
    std::fill_n(out.weight.mutable_data_ptr<float>() + e * length, size - 1, 1.0f);
  }
  return out;
}

// Epoch after epoch of all sequences, each in an order of its own that follows from (seed, epoch) alone.
// Batches run on over the end of an epoch, so none is dropped. An augmentation is drawn from (seed, epoch,
// sequence).
class SequenceStream final : public TrainStream {
 public:
  SequenceStream(std::shared_ptr<const PreparedData> data, int64_t rows, int64_t length, uint64_t seed)
      : data_(std::move(data)),
        count_((*data_)[Split::train].size()),
        rows_(rows),
        length_(length),
        seed_(seed) {}

  Batch at(int64_t index) const override {
    std::vector<Tokens> sequences;
    for (int64_t i = index * rows_; i < (index + 1) * rows_; ++i) {
      const int64_t epoch = i / count_, sequence = place(epoch, i % count_);
      Random random(seed_, "sequences/present", uint64_t(epoch * count_ + sequence));
      sequences.push_back(data_->present(Split::train, sequence, &random));
    }
    return pack(sequences, length_);
  }
  int64_t tokens(int64_t) const override { return rows_ * length_; }

 private:
  int64_t place(int64_t epoch, int64_t i) const {
    const std::lock_guard lock(mutex_);
    if (epoch != epoch_) {
      order_.resize(size_t(count_));
      std::iota(order_.begin(), order_.end(), int64_t{0});
      Random random(seed_, "sequences/order", uint64_t(epoch));
      for (size_t left = order_.size(); left > 1; --left)
        std::swap(order_[left - 1], order_[random.below(left)]);
      epoch_ = epoch;
    }
    return order_[size_t(i)];
  }

  std::shared_ptr<const PreparedData> data_;
  int64_t count_, rows_, length_;
  uint64_t seed_;
  mutable std::mutex mutex_;  // over the order of the epoch asked for last, which is dear to draw again
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> order_;
};

class SequenceTest final : public TestSet {
 public:
  SequenceTest(std::shared_ptr<const PreparedData> data, Split split, int64_t length)
      : data_(std::move(data)), clusters_(data_->clusters(split)), split_(split), length_(length) {}
  int64_t size() const override { return (*data_)[split_].size(); }
  int64_t cluster(int64_t example) const override { return clusters_[size_t(example)]; }

  Batch read(int64_t first, int64_t count) const override {
    std::vector<Tokens> sequences;
    for (int64_t i = first; i < first + count; ++i) sequences.push_back(data_->present(split_, i, nullptr));
    return pack(sequences, length_);
  }

 private:
  std::shared_ptr<const PreparedData> data_;
  std::vector<int64_t> clusters_;  // by sequence
  Split split_;
  int64_t length_;
};

// Where each long sequence's windows stand in a list of all windows of a split.
class WindowIndex {
 public:
  // `windows` says how many a sequence of a length has.
  template <class Windows>
  WindowIndex(const Sequences& sequences, const Windows& windows) {
    for (int64_t i = 0; i < sequences.size(); ++i)
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + windows(sequences.length(i)));
  }
  int64_t size() const { return ends_.back(); }
  std::pair<int64_t, int64_t> find(
      int64_t window) const {  // the sequence, and the number of the window in it
    const auto sequence = std::upper_bound(ends_.begin(), ends_.end(), window);
    return {sequence - ends_.begin(), sequence == ends_.begin() ? window : window - *(sequence - 1)};
  }

 private:
  std::vector<int64_t> ends_;
};

// Windows from anywhere: every legal start in every sequence is as likely as any other, drawn by (seed,
// batch, row).
class WindowStream final : public TrainStream {
 public:
  WindowStream(std::shared_ptr<const PreparedData> data, int64_t rows, int64_t length, uint64_t seed)
      : data_(std::move(data)),
        index_((*data_)[Split::train], [&](int64_t all) { return std::max<int64_t>(0, all - length + 1); }),
        rows_(rows),
        length_(length),
        seed_(seed) {
    if (index_.size() == 0)
      throw Error(fmt::format("data.seq_len is {}: no training sequence is that long", length));
  }

  Batch at(int64_t index) const override {
    std::vector<Tokens> windows;
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t drawn =
          Random(seed_, "windows/train", uint64_t(index) << 32 | uint64_t(row)).between(0, index_.size() - 1);
      const auto [sequence, start] = index_.find(drawn);
      windows.push_back((*data_)[Split::train].read(sequence, start, length_));
    }
    return pack(windows, length_);
  }
  int64_t tokens(int64_t) const override { return rows_ * length_; }

 private:
  std::shared_ptr<const PreparedData> data_;
  WindowIndex index_;
  int64_t rows_, length_;
  uint64_t seed_;
};

// Windows side by side; what is left at the end of a sequence is too short for one.
class WindowTest final : public TestSet {
 public:
  WindowTest(std::shared_ptr<const PreparedData> data, Split split, int64_t length)
      : data_(std::move(data)),
        index_((*data_)[split], [&](int64_t all) { return all / length; }),
        clusters_(data_->clusters(split)),
        split_(split),
        length_(length) {
    if (index_.size() == 0)
      throw Error(fmt::format("data.seq_len is {}: no {} sequence is that long", length, name_of(split)));
  }
  int64_t size() const override { return index_.size(); }
  int64_t cluster(int64_t example) const override { return clusters_[size_t(index_.find(example).first)]; }

  Batch read(int64_t first, int64_t count) const override {
    std::vector<Tokens> windows;
    for (int64_t i = first; i < first + count; ++i) {
      const auto [sequence, window] = index_.find(i);
      windows.push_back((*data_)[split_].read(sequence, window * length_, length_));
    }
    return pack(windows, length_);
  }

 private:
  std::shared_ptr<const PreparedData> data_;
  WindowIndex index_;
  std::vector<int64_t> clusters_;  // by sequence
  Split split_;
  int64_t length_;
};

// Of sequences that are read whole: how long the longest is to a model, and what a shorter context leaves.
struct Reach {
  int64_t longest = 0, tokens = 0, read = 0;  // the latter two of the training split
  Reach(const PreparedData& data, int64_t length) {
    for (const Split split : {Split::train, Split::validation, Split::test})
      for (int64_t i = 0; i < data[split].size(); ++i) {
        const int64_t all = data.kind.presented > 0 ? data.kind.presented : data[split].length(i);
        longest = std::max(longest, all);
        if (split == Split::train) tokens += all, read += std::min(all, length);
      }
  }
};

Dataset open_sequences(std::shared_ptr<const PreparedData> data, const DataConfig& config, uint64_t seed) {
  const auto train = [&]() -> std::shared_ptr<const TrainStream> {
    if (data->kind.windows)
      return std::make_shared<WindowStream>(data, config.batch_size, config.seq_len, seed);
    return std::make_shared<SequenceStream>(data, config.batch_size, config.seq_len, seed);
  };
  const auto part = [&](Split split) -> std::shared_ptr<const TestSet> {
    if (data->kind.windows) return std::make_shared<WindowTest>(data, split, config.seq_len);
    return std::make_shared<SequenceTest>(data, split, config.seq_len);
  };
  Dataset out{.name = dataset_name(config),
              .family = std::string(data->kind.name),
              .vocabulary = data->manifest.vocabulary,
              .measure = Measure::nll,
              .train = train(),
              .tests = {{.multiple = 1, .set = part(Split::test), .n_free = data->n_free(Split::test)}},
              .validation = part(Split::validation)};
  if (data->kind.windows) return out;
  const Reach reach(*data, config.seq_len);
  out.longest = reach.longest;
  if (reach.read < reach.tokens)
    out.notes.push_back(fmt::format(
        "data.seq_len is {0}: of each sequence of {1} the first {0} tokens are read, {2:.0f} % of all; the "
        "longest has {3}",
        config.seq_len, out.name, 100 * double(reach.read) / double(reach.tokens), reach.longest));
  return out;
}

}  // namespace

Dataset open_prepared(const DataConfig& config, uint64_t seed) {
  const auto data = std::make_shared<const PreparedData>(config.root_dir);
  Dataset out = (data->kind.text ? open_text : open_sequences)(data, config, seed);
  out.told = told(config, data->manifest, *out.tests.front().set);
  return out;
}

}  // namespace darope
