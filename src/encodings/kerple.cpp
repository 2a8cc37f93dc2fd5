#include <ATen/TensorOperators.h>
#include <ATen/ops/log1p.h>

#include "encodings/spec.h"

namespace darope {

// A learned logarithmic penalty, -r1 ln(1 + r2 n) at distance n: the logarithmic kernel of KERPLE (Chi et al.
// 2022). Its release has one pair of numbers for all layers; here each layer has its own.
class KERPLE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "kerple",
                                 .summary = "scores fall with the distance's logarithm, as each head learns",
                                 .slow_bands = "none: a logarithmic bias",
                                 .data_aware = "no",
                                 .learns = "r1, r2 [heads]",
                                 .flash_attention = "with a bias",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .linear = false};
  KERPLE(const LayerShape& shape, Options&) : Encoding(shape) {}

  std::vector<Parameter> parameters() const override {
    const auto positive = [&](const char* name, double most) {
      return Parameter{
          .name = name, .shape = {shape_.heads}, .init = Parameter::Init::uniform, .b = most, .low = 0.01};
    };
    return {positive("r1", 2), positive("r2", 1)};
  }

  ScoreRule rule(TensorList parameters, bool) const override {
    return {.bias = [r1 = parameters[0], r2 = parameters[1]](const Tensor& distance, const Tensor&) {
      const auto by_head = [&](const Tensor& r) { return r.to(distance.scalar_type()).view({-1, 1, 1}); };
      return -by_head(r1) * at::log1p(by_head(r2) * distance.abs());
    }};
  }
};

template Spec spec_of<KERPLE>();
}  // namespace darope
