#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>

#include <cmath>

#include "base/error.h"
#include "encodings/bands.h"
#include "encodings/spec.h"

namespace darope {

// Channels 2i and 2i + 1 of a token at position m get sin and cos of m base^(-2i/D) (Vaswani et al. 2017).
// There token embeddings are multiplied by sqrt(D) first; here, where every encoding has the same ones, the
// waves are divided by it.
class Sinusoidal final : public Encoding {
 public:
  static constexpr Traits traits{.name = "sinusoidal",
                                 .summary = "sines and cosines of the position, added to the embeddings",
                                 .slow_bands = "none: added to embeddings",
                                 .data_aware = "no",
                                 .learns = "nothing",
                                 .flash_attention = "yes",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .embeds = true};
  Sinusoidal(const LayerShape& shape, Options& options)
      : Encoding(shape),
        base_(read_base(options, 10'000)),
        scale_(options.number("scale", 1 / std::sqrt(double(shape.d_model)))) {
    if (!(scale_ > 0 && std::isfinite(scale_)))
      throw Error("option 'scale' must be finite and above 0; got " + number_text(scale_));
  }

  Tensor embed(TensorList, const Tensor& x, const Tensor& positions) const override {
    const int64_t width = shape_.d_model;
    const Tensor i = at::arange((width + 1) / 2, positions.options()),
                 angle = positions.unsqueeze(-1) * at::pow(base_, i * -2 / double(width)),
                 waves = at::stack({angle.sin(), angle.cos()}, -1).flatten(-2).narrow(-1, 0, width);
    return x + (waves * scale_).to(x.scalar_type());
  }

  std::optional<double> base() const override { return base_; }

 private:
  double base_, scale_;
};

template Spec spec_of<Sinusoidal>();
}  // namespace darope
