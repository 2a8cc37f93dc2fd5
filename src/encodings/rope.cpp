#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// Every band turns with the token's index (Eq. 1); scores see index differences.
class RoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "rope",
                                 .summary = "every band turns with the token's index",
                                 .slow_bands = "fixed token index",
                                 .data_aware = "no",
                                 .ktokens_per_second = 61.7,
                                 .learns = "nothing",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  RoPE(const LayerShape& shape, Options& options)
      : Encoding(shape),
        base_(read_base(options)),
        theta_(frequencies(shape.head_dim, base_)),
        fast_(read_fast(options, theta_, shape.train_length)) {}

  std::tuple<Tensor, Tensor> encode(TensorList, const Tensor& q, const Tensor& k, const Tensor&,
                                    const Tensor& positions) const override {
    return ops::rotate({q, k, positions, theta_, 1, shape_.half()});
  }
  std::optional<int64_t> fast_bands() const override { return fast_; }
  std::optional<double> base() const override { return base_; }

 private:
  double base_;
  std::vector<double> theta_;
  int64_t fast_;
};

template Spec spec_of<RoPE>();
}  // namespace darope
