#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp2.h>

#include <bit>

#include "encodings/spec.h"

namespace darope {

// A penalty that grows with the distance, by a fixed slope for each head (Press et al. 2022).
class ALiBi final : public Encoding {
 public:
  static constexpr Traits traits{.name = "alibi",
                                 .summary = "scores fall with the distance, by a slope for each head",
                                 .slow_bands = "none: a linear bias",
                                 .data_aware = "no",
                                 .learns = "nothing",
                                 .flash_attention = "with a bias",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .linear = false};
  ALiBi(const LayerShape& shape, Options&) : Encoding(shape) {}

  ScoreRule rule(TensorList, bool) const override {
    return {.bias = [this](const Tensor& distance, const Tensor&) {
      return -slopes(distance.options()).view({-1, 1, 1}) * distance.abs();
    }};
  }

 private:
  // 2^(-8 h / H) for h = 1 .. H where H is a power of two; else those of the power below, and behind them
  // every other one of the power above: 2^(-8 (h - 1/2) / below).
  Tensor slopes(const at::TensorOptions& options) const {
    const int64_t below = int64_t(std::bit_floor(uint64_t(shape_.heads)));
    const auto powers = [&](int64_t count, double less) {
      return at::exp2((at::arange(1, 1 + count, options) - less) * (-8.0 / double(below)));
    };
    return at::cat({powers(below, 0), powers(shape_.heads - below, 0.5)});
  }
};

template Spec spec_of<ALiBi>();
}  // namespace darope
