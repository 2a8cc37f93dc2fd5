#pragma once
#include "ops/rotate.h"

namespace darope::ops {

// The gradient of rotate_learned: of q, k, x, w, alpha (empty without one) and shift.
struct RotateLearnedBackward {
  static constexpr auto name = "darope::rotate_learned_backward";
  using Result = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         const Tensor&, const Maybe&, const Tensor&, const Tensor&, const Tensor&,
                         at::ArrayRef<double>, int64_t, double, bool>;

  const Tensor &q_grad, &k_grad, &q, &k, &x, &w;
  const Maybe& alpha;
  const Tensor &share, &prior, &positions;
  at::ArrayRef<double> theta;
  int64_t fast = 0;
  double length = 0;
  bool half = false;
  All all() const {
    return {q_grad, k_grad, q, k, x, w, alpha, share, prior, positions, theta, fast, length, half};
  }
};

// Composed tensor operations, for any dtype and device.
RotateLearned::Result learned_plain(const RotateLearned&);
RotateLearnedBackward::Result learned_backward_plain(const RotateLearnedBackward&);

// The skinny products with w before and after a kernel that does not have them inside.
Tensor fused_logit(const RotateLearned&);
RotateLearnedBackward::Result from_logit_grad(const RotateLearnedBackward&, const Tensor& dq,
                                              const Tensor& dk, const Tensor& dlogit, const Tensor& dalpha);

// The gradient of alpha, empty without one: the sum of dlogit * prior over tokens.
Tensor alpha_grad(const RotateLearnedBackward&, const Tensor& dlogit);

}  // namespace darope::ops
