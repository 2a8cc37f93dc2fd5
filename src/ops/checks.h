#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

namespace darope::ops {
using at::Tensor;

// Shape, dtype and device of the operators' arguments; the same checks run on CPU, CUDA and Meta tensors.
void check_rotate(const Tensor& q, const Tensor& k, const Tensor& positions, at::ArrayRef<double> theta);
// The backward operator's arguments: whoever calls it by hand gets a sentence, not a crash.
void check_learned_backward(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                            const Tensor& x, const Tensor& w, const std::optional<Tensor>& alpha,
                            const Tensor& share, const Tensor& prior, const Tensor& positions,
                            at::ArrayRef<double> theta, int64_t fast);
void check_learned(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                   const std::optional<Tensor>& alpha, const std::optional<Tensor>& shift, int64_t fast,
                   at::ArrayRef<double> theta);

}  // namespace darope::ops
