#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// x / sqrt(mean(x^2) + eps) * weight over the last dimension. One pass forward and one or two backward, where
// the library composes it of a dozen operations on a CPU and spends a pass of its own on the weight's
// gradient on a GPU.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps);

// x + delta, and the norm of it: what lies between two parts of a residual stream, in one pass.
struct Added {
  Tensor sum, norm;
};
Added add_rms_norm(const Tensor& x, const Tensor& delta, const Tensor& weight, double eps);

}  // namespace darope
