#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace darope::ops {
using at::Tensor;

// Shape, dtype and device of the operators' arguments; the same checks run on CPU, CUDA and Meta tensors.
void check_rotate(const Tensor& q, const Tensor& k, const Tensor& positions, at::ArrayRef<double> theta);
void check_learned(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w, const std::optional<Tensor>& alpha,
                   const std::optional<Tensor>& shift, int64_t fast, at::ArrayRef<double> theta);

}  // namespace darope::ops
