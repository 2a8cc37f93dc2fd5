#pragma once
#include "ops/rotate.h"

namespace darope::ops {

// What CPU and CUDA share around their kernels: the skinny products with w before and after.
Tensor fused_logit(const Tensor& x, const Tensor& w, const std::optional<Tensor>& shift);
using LearnedGrads = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;      // q, k, x, w, alpha, shift
LearnedGrads from_logit_grad(const Tensor& dq, const Tensor& dk, const Tensor& dlogit, const Tensor& x, const Tensor& w,
                             const std::optional<Tensor>& alpha, const Tensor& prior);

}  // namespace darope::ops
