#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/softplus.h>

#include <cmath>
#include <numbers>

#include "encodings/attention.h"
#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// Magnitude says what, phase says where (Eq. 7): a channel contributes softplus(q) softplus(k) cos((n - m) theta_c + delta_c),
// with a frequency for each of the d channels. As an inner product of Cartesian vectors, q and k become 2d wide.
class PoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "pope", .summary = "polar: magnitudes carry content, phases carry position", .slow_bands = "token index + phase bias",
                                 .data_aware = "partly", .ktokens_per_second = 43.4, .learns = "delta [H, d]", .flash_attention = "q, k 2d wide", .cache = "polar k (2d), v",
                                 .rotary = false, .grouped = false};
  PoPE(const LayerShape& shape, Options& options) : Encoding(shape), base_(read_base(options, 10'000)), uniform_(options.choice("delta_init", {"zero", "uniform"}) == "uniform") {}

  std::vector<Parameter> parameters() const override {
    constexpr double turn = 2 * std::numbers::pi;
    Parameter delta{.name = "delta", .shape = {shape_.heads, shape_.head_dim}, .bounded = true, .low = -turn, .high = 0};
    if (uniform_) delta.init = Parameter::Init::uniform, delta.a = -turn, delta.b = 0;
    return {delta};
  }

  std::tuple<Tensor, Tensor> encode(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor&, const Tensor& positions) const override {
    const at::ScalarType type = ops::compute_type(q.scalar_type());
    const Tensor theta = at::pow(base_, at::arange(shape_.head_dim, positions.options()) / -double(shape_.head_dim));
    const Tensor angle = positions.unsqueeze(-1).unsqueeze(-1) * theta;                                         // float64, [.., T, 1, d]
    const Tensor cosine = angle.cos().to(type), sine = angle.sin().to(type), delta = parameters[0].to(type);
    // cos(n theta + delta) by the addition theorem: the large angle never meets the learned one in low precision.
    return {polar(q, cosine, sine), polar(k, cosine * delta.cos() - sine * delta.sin(), sine * delta.cos() + cosine * delta.sin())};
  }

  Tensor attend(TensorList, const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double dropout) const override {
    return softmax_attention(q, k, v, causal, 1 / std::sqrt(double(shape_.head_dim)), dropout);                // d, not the widened 2d
  }
  std::optional<double> base() const override { return base_; }

 private:
  static Tensor polar(const Tensor& x, const Tensor& cosine, const Tensor& sine) {
    const Tensor magnitude = at::softplus(x.to(cosine.scalar_type()), 1, 50);
    return at::cat({magnitude * cosine, magnitude * sine}, -1).to(x.scalar_type());
  }

  double base_;
  bool uniform_;
};

template Spec spec_of<PoPE>();
}  // namespace darope
