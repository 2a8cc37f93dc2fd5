#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>

#include "encodings/learned_rotation.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// The four other formulations of the paper's ablation. All but the first start as the same function as
// DaRoPE.

class DaRoPENoPrior final : public LearnedRotation {
 public:
  static constexpr Traits traits{.name = "darope-no-prior",
                                 .summary = "ablation: the coordinate has no positional prior",
                                 .slow_bands = "content coordinate, no prior",
                                 .data_aware = "yes",
                                 .learns = "w [H, D]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  using LearnedRotation::LearnedRotation;
  std::vector<Parameter> parameters() const override { return {w()}; }

 private:
  Logit logit(TensorList p, const Tensor&, const Tensor&) const override { return {p[0]}; }
};

class DaRoPEFixedAlpha final : public LearnedRotation {
 public:
  static constexpr Traits traits{.name = "darope-fixed-alpha",
                                 .summary = "ablation: the prior's strength stays 0.5",
                                 .slow_bands = "bounded per-head coordinate",
                                 .data_aware = "yes",
                                 .learns = "w [H, D]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  using LearnedRotation::LearnedRotation;
  std::vector<Parameter> parameters() const override { return {w()}; }

 private:
  Logit logit(TensorList p, const Tensor&, const Tensor&) const override {
    return {p[0], at::full({shape_.kv_heads}, kAlpha, p[0].options())};
  }
};

class DaRoPEPerBand final : public LearnedRotation {
 public:
  static constexpr Traits traits{.name = "darope-per-band",
                                 .summary = "ablation: a prior of its own strength for every slow band",
                                 .slow_bands = "a coordinate per head and band",
                                 .data_aware = "yes",
                                 .learns = "w [H, D], alpha [H, slow]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  using LearnedRotation::LearnedRotation;
  std::vector<Parameter> parameters() const override {
    return {w(), {.name = "alpha", .shape = {shape_.kv_heads, slow()}, .a = kAlpha}};
  }

 private:
  Logit logit(TensorList p, const Tensor&, const Tensor&) const override { return {p[0], p[1]}; }
};

class DaRoPEDynamic final : public LearnedRotation {
 public:
  static constexpr Traits traits{.name = "darope-dynamic",
                                 .summary = "ablation: the prior's strength is read from the token",
                                 .slow_bands = "bounded per-head coordinate",
                                 .data_aware = "yes",
                                 .learns = "w, u [H, D], a [H]",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v"};
  using LearnedRotation::LearnedRotation;
  std::vector<Parameter> parameters() const override {
    return {w(),
            {.name = "u", .shape = {shape_.kv_heads, shape_.d_model}},
            {.name = "a", .shape = {shape_.kv_heads}, .a = kAlpha}};
  }

 private:
  Logit logit(TensorList p, const Tensor& x, const Tensor& positions) const override {
    const Tensor strength =
        ops::project(x, p[1]) + p[2].to(ops::compute_type(x.scalar_type()));  // [B, T, Hk]
    const Tensor prior =
        ops::positional_prior(positions, double(shape_.train_length)).to(strength.scalar_type());
    return {p[0], std::nullopt, strength * prior.unsqueeze(-1)};
  }
};

template Spec spec_of<DaRoPENoPrior>();
template Spec spec_of<DaRoPEFixedAlpha>();
template Spec spec_of<DaRoPEPerBand>();
template Spec spec_of<DaRoPEDynamic>();
}  // namespace darope
