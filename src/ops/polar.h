#pragma once
#include "ops/rotate.h"

namespace darope::ops {

// PoPE's coordinates (kernels/polar.h has the equation): x [B, T, H, d], positions [T] or [B, T] in float64,
// delta [H, d] or none,
// -> [B, T, H, 2d] in x's dtype. One launch on CUDA; elsewhere, in float64 and where d is no multiple of 8 or
// H d exceeds 4096, composed of tensor operations.
Tensor polar(const Tensor& x, const Tensor& positions, double base, const std::optional<Tensor>& delta);

using PolarGrads = std::tuple<Tensor, Tensor>;  // x, delta
Tensor polar_plain(const Tensor& x, const Tensor& positions, double base, const std::optional<Tensor>& delta);
PolarGrads polar_backward_plain(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                                const std::optional<Tensor>& delta);

// A sentence, not a crash, for who calls the operators by hand.
void check_polar(const Tensor& x, const Tensor& positions, double base, const std::optional<Tensor>& delta);
void check_polar_backward(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                          const std::optional<Tensor>& delta);

}  // namespace darope::ops
