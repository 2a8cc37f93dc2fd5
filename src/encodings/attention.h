#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// softmax(scale q k^T) v over [B, T, heads, width] tensors; k and v may have fewer heads and more tokens than
// q. A causal query sees the keys up to its own token, the queries being the last of them.
Tensor softmax_attention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                         double dropout);

}  // namespace darope
