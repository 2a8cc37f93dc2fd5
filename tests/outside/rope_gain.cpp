#include <ATen/TensorOperators.h>

#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// RoPE with a learned gain on the scores, one per key head.
class RoPEGain final : public Encoding {
 public:
  static constexpr Traits traits{.name = "rope-gain",
                                 .summary = "RoPE with a learned gain on the scores",
                                 .slow_bands = "kept",
                                 .data_aware = "no",
                                 .learns = "gain [H]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  RoPEGain(const LayerShape& shape, Options& options)
      : Encoding(shape),
        theta_(frequencies(shape.head_dim, read_base(options))),
        start_(options.number("start", 1)) {}

  std::vector<Parameter> parameters() const override {
    return {{.name = "gain", .shape = {shape_.kv_heads}, .a = start_}};
  }

  std::tuple<Tensor, Tensor> encode(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor&,
                                    const Tensor& positions) const override {
    const auto [q_out, k_out] = ops::rotate({q, k, positions, theta_, 1, shape_.half()});
    // A parameter may be float32 beside bfloat16 activations.
    return {q_out, k_out * parameters[0].to(k.scalar_type()).unsqueeze(-1)};
  }

 private:
  std::vector<double> theta_;
  double start_;
};

template Spec spec_of<RoPEGain>();
}  // namespace darope
