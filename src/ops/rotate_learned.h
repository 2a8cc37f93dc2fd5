#pragma once
#include "ops/rotate.h"

namespace darope::ops {

using LearnedOutputs = std::tuple<Tensor, Tensor, Tensor, Tensor>;                // q, k, share, prior
using LearnedGrads = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;  // q, k, x, w, alpha, shift

// Composed tensor operations, for any dtype and device.
LearnedOutputs learned_plain(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                             const std::optional<Tensor>& alpha, const std::optional<Tensor>& shift,
                             const Tensor& positions, at::ArrayRef<double> theta, int64_t fast, double length,
                             bool half);
LearnedGrads learned_backward_plain(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q,
                                    const Tensor& k, const Tensor& x, const Tensor& w,
                                    const std::optional<Tensor>& alpha, const Tensor& share,
                                    const Tensor& prior, const Tensor& positions, at::ArrayRef<double> theta,
                                    int64_t fast, double length, bool half);

// The skinny products with w before and after a kernel that does not have them inside.
Tensor fused_logit(const Tensor& x, const Tensor& w, const std::optional<Tensor>& shift);
LearnedGrads from_logit_grad(const Tensor& dq, const Tensor& dk, const Tensor& dlogit, const Tensor& dalpha,
                             const Tensor& x, const Tensor& w);

// The gradient of alpha, empty without one: the sum of dlogit * prior over tokens.
Tensor alpha_grad(const Tensor& dlogit, const Tensor& w, const std::optional<Tensor>& alpha,
                  const Tensor& prior);

}  // namespace darope::ops
