#include <algorithm>

#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// RoPE on the bands that complete a turn in training; the slow ones stay unrotated and carry content alone.
class HoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "hope",
                                 .summary = "RoPE on fast bands, slow bands unrotated",
                                 .slow_bands = "removed",
                                 .data_aware = "no",
                                 .ktokens_per_second = 62.3,
                                 .learns = "nothing",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  HoPE(const LayerShape& shape, Options& options)
      : Encoding(shape),
        base_(read_base(options)),
        theta_(frequencies(shape.head_dim, base_)),
        fast_(read_fast(options, theta_, shape.train_length)) {
    std::fill(theta_.begin() + fast_, theta_.end(), 0.0);
  }

  std::tuple<Tensor, Tensor> encode(TensorList, const Tensor& q, const Tensor& k, const Tensor&,
                                    const Tensor& positions) const override {
    return ops::rotate({q, k, positions, theta_, 1, shape_.half()});
  }
  std::optional<int64_t> fast_bands() const override { return fast_; }
  std::optional<double> base() const override { return base_; }

 private:
  double base_;
  std::vector<double> theta_;  // 0 where a band is slow
  int64_t fast_;
};

template Spec spec_of<HoPE>();
}  // namespace darope
