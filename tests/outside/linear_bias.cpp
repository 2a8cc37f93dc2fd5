#include <ATen/TensorOperators.h>

#include "encodings/spec.h"

namespace darope {

// Scores fall with the distance between two tokens, by a slope that each head learns.
class LinearBias final : public Encoding {
 public:
  static constexpr Traits traits{.name = "linear-bias",
                                 .summary = "scores fall with the distance, by a learned slope",
                                 .slow_bands = "none: a linear bias",
                                 .data_aware = "no",
                                 .learns = "slope [heads]",
                                 .flash_attention = "with a bias",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .linear = false};
  LinearBias(const LayerShape& shape, Options&) : Encoding(shape) {}

  std::vector<Parameter> parameters() const override {
    return {{.name = "slope", .shape = {shape_.heads}, .a = 0.1, .low = 0}};
  }

  ScoreRule rule(TensorList parameters, bool) const override {
    return {.bias = [slope = parameters[0]](const Tensor& distance, const Tensor&) {
      return -slope.to(distance.scalar_type()).view({-1, 1, 1}) * distance.abs();
    }};
  }
};

template Spec spec_of<LinearBias>();
}  // namespace darope
