#pragma once
#include "ops/rotate.h"

// The plain versions: composed tensor operations for any device and floating dtype, in the order of the
// paper's equations. They are the oracle of the fused kernels and the fallback where there is none. Angles
// are never formed below float.
namespace darope::ops::plain {

std::tuple<Tensor, Tensor> rotate(const Tensor& q, const Tensor& k, const Tensor& positions,
                                  at::ArrayRef<double> theta, double scale, bool half);

std::tuple<Tensor, Tensor, Tensor, Tensor> rotate_learned(const Tensor& q, const Tensor& k, const Tensor& x,
                                                          const Tensor& w, const std::optional<Tensor>& alpha,
                                                          const std::optional<Tensor>& shift,
                                                          const Tensor& positions, at::ArrayRef<double> theta,
                                                          int64_t fast, double length, bool half);

// Gradients of q, k and the logit (shaped like share).
std::tuple<Tensor, Tensor, Tensor> rotate_learned_backward(const Tensor& q_grad, const Tensor& k_grad,
                                                           const Tensor& q, const Tensor& k,
                                                           const Tensor& share, const Tensor& positions,
                                                           at::ArrayRef<double> theta, int64_t fast,
                                                           double length, bool half);

}  // namespace darope::ops::plain
