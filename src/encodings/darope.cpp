#include "encodings/learned_rotation.h"
#include "encodings/spec.h"

namespace darope {

// The paper's scheme: a content coordinate per head, with a positional prior of learned strength.
class DaRoPE final : public LearnedRotation {
 public:
  static constexpr Traits traits{.name = "darope",
                                 .summary = "RoPE on fast bands, a learned bounded coordinate on slow bands",
                                 .slow_bands = "bounded per-head coordinate",
                                 .data_aware = "yes",
                                 .ktokens_per_second = 59.8,
                                 .learns = "w [H, D], alpha [H]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  using LearnedRotation::LearnedRotation;

  std::vector<Parameter> parameters() const override {
    return {w(), {.name = "alpha", .shape = {shape_.kv_heads}, .a = kAlpha}};
  }

 private:
  Logit logit(TensorList p, const Tensor&, const Tensor&) const override { return {p[0], p[1]}; }
};

template Spec spec_of<DaRoPE>();
}  // namespace darope
