#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/open.h"
#include "data/prepared/prepared_data.h"

namespace darope {
namespace {

// Sequences one under the other, cut to `length` and padded at their right. All but the first token of each are targets.
Batch pack(const std::vector<Tokens>& sequences, int64_t length) {
  const int64_t count = int64_t(sequences.size());
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  Batch out{at::zeros({count, length}, integers), Tensor(), at::zeros({count * length}, integers), at::zeros({count * length})};
  for (int64_t e = 0; e < count; ++e) {
    const Tokens& sequence = sequences[size_t(e)];
    const int64_t size = std::min(length, int64_t(sequence.size()));
    std::copy_n(sequence.begin(), size, out.tokens.mutable_data_ptr<int64_t>() + e * length);
    std::copy_n(sequence.begin() + 1, size - 1, out.targets.mutable_data_ptr<int64_t>() + e * length);
    std::fill_n(out.weight.mutable_data_ptr<float>() + e * length, size - 1, 1.0f);
  }
  return out;
}

Tokens present(const PreparedData& data, Split split, int64_t index, Random* random) {
  Tokens stored = data[split].read(index);
  return data.kind.present ? data.kind.present(std::move(stored), random) : stored;
}

// Epoch after epoch of all sequences, each in an order of its own that follows from (seed, epoch) alone. Batches run on over the
// end of an epoch, so none is dropped. An augmentation is drawn from (seed, epoch, sequence).
class SequenceStream final : public TrainStream {
 public:
  SequenceStream(std::shared_ptr<const PreparedData> data, int64_t rows, int64_t length, uint64_t seed)
      : data_(std::move(data)), count_((*data_)[Split::train].size()), rows_(rows), length_(length), seed_(seed) {}

  Batch at(int64_t index) const override {
    std::vector<Tokens> sequences;
    for (int64_t i = index * rows_; i < (index + 1) * rows_; ++i) {
      const int64_t epoch = i / count_, sequence = place(epoch, i % count_);
      Random random(seed_, "sequences/present", uint64_t(epoch * count_ + sequence));
      sequences.push_back(present(*data_, Split::train, sequence, &random));
    }
    return pack(sequences, length_);
  }

 private:
  int64_t place(int64_t epoch, int64_t i) const {
    const std::lock_guard lock(mutex_);
    if (epoch != epoch_) {
      order_.resize(size_t(count_));
      std::iota(order_.begin(), order_.end(), int64_t{0});
      Random random(seed_, "sequences/order", uint64_t(epoch));
      for (size_t left = order_.size(); left > 1; --left) std::swap(order_[left - 1], order_[random.below(left)]);
      epoch_ = epoch;
    }
    return order_[size_t(i)];
  }

  std::shared_ptr<const PreparedData> data_;
  int64_t count_, rows_, length_;
  uint64_t seed_;
  mutable std::mutex mutex_;                    // over the order of the epoch asked for last, which is dear to draw again
  mutable int64_t epoch_ = -1;
  mutable std::vector<int64_t> order_;
};

class SequenceTest final : public TestSet {
 public:
  SequenceTest(std::shared_ptr<const PreparedData> data, Split split, int64_t length)
      : data_(std::move(data)), split_(split), length_(length) {}
  int64_t size() const override { return (*data_)[split_].size(); }

  Batch read(int64_t first, int64_t count) const override {
    std::vector<Tokens> sequences;
    for (int64_t i = first; i < first + count; ++i) sequences.push_back(present(*data_, split_, i, nullptr));
    return pack(sequences, length_);
  }

 private:
  std::shared_ptr<const PreparedData> data_;
  Split split_;
  int64_t length_;
};

}  // namespace

Dataset open_prepared(const DataConfig& config, uint64_t seed) {
  const auto data = std::make_shared<const PreparedData>(config.root_dir);
  const auto part = [&](Split split) { return std::make_shared<SequenceTest>(data, split, config.seq_len); };
  return {.name = dataset_name(config), .family = std::string(data->kind.name), .vocabulary = data->manifest.vocabulary,
          .measure = Measure::nll, .train = std::make_shared<SequenceStream>(data, config.batch_size, config.seq_len, seed),
          .tests = {{1, part(Split::test)}}, .validation = part(Split::validation)};
}

}  // namespace darope
