#include <numbers>

#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/polar.h"

namespace darope {

// Magnitude says what, phase says where (Eq. 7): a channel contributes softplus(q) softplus(k) cos((n - m)
// theta_c + delta_c), with a frequency for each of the d channels. As an inner product of Cartesian vectors,
// q and k become 2d wide; scores are scaled by d all the same.
class PoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "pope",
                                 .summary = "polar: magnitudes carry content, phases carry position",
                                 .slow_bands = "token index + phase bias",
                                 .data_aware = "partly",
                                 .ktokens_per_second = 43.4,
                                 .learns = "delta [H, d]",
                                 .flash_attention = "q, k 2d wide",
                                 .cache = "polar k (2d), v",
                                 .rotary = false,
                                 .grouped = false};
  PoPE(const LayerShape& shape, Options& options)
      : Encoding(shape),
        base_(read_base(options, 10'000)),
        uniform_(options.choice("delta_init", {"zero", "uniform"}) == "uniform") {}

  std::vector<Parameter> parameters() const override {
    constexpr double turn = 2 * std::numbers::pi;
    Parameter delta{.name = "delta", .shape = {shape_.heads, shape_.head_dim}, .low = -turn, .high = 0};
    if (uniform_) delta.init = Parameter::Init::uniform, delta.a = -turn, delta.b = 0;
    return {delta};
  }

  std::tuple<Tensor, Tensor> encode(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor&,
                                    const Tensor& positions) const override {
    return {ops::polar({q, positions, base_, std::nullopt}),
            ops::polar({k, positions, base_, parameters[0]})};
  }

  std::optional<double> base() const override { return base_; }
  int64_t encoded_width() const override { return 2 * shape_.head_dim; }

 private:
  double base_;
  bool uniform_;
};

template Spec spec_of<PoPE>();
}  // namespace darope
