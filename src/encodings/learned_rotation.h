#pragma once
#include "encodings/bands.h"
#include "encodings/encoding.h"

namespace darope {

// DaRoPE and the other formulations of the paper's ablation differ in the logit of the coordinate alone: fast
// bands keep the token's index, slow bands turn by c = L sigmoid(w_h . x + shift + alpha beta_m) (Eq. 4-6).
class LearnedRotation : public Encoding {
 public:
  LearnedRotation(const LayerShape& shape, Options& options)
      : Encoding(shape),
        base_(read_base(options)),
        theta_(frequencies(shape.head_dim, base_)),
        fast_(read_fast(options, theta_, shape.train_length)) {}

  std::tuple<Tensor, Tensor> encode(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor& x,
                                    const Tensor& positions) const final;
  bool has_coordinate() const final { return true; }
  Tensor coordinate(TensorList parameters, const Tensor& x, const Tensor& positions) const final;
  std::optional<int64_t> fast_bands() const final { return fast_; }
  std::optional<double> base() const final { return base_; }

 protected:
  struct Logit {
    Tensor w;                          // [Hk, D]
    std::optional<Tensor> alpha = {};  // [Hk] or [Hk, slow]; none: no positional prior
    std::optional<Tensor> shift = {};  // [B, T, Hk], in the compute type
  };
  virtual Logit logit(TensorList parameters, const Tensor& x, const Tensor& positions) const = 0;

  Parameter w() const {
    return {
        .name = "w", .shape = {shape_.kv_heads, shape_.d_model}, .init = Parameter::Init::normal, .b = 0.1};
  }
  static constexpr double kAlpha =
      0.5;  // where every learned strength of the prior starts, and the fixed one stays

  int64_t slow() const { return shape_.bands() - fast_; }

 private:
  double base_;
  std::vector<double> theta_;
  int64_t fast_;
};

}  // namespace darope
