#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// Causal attention of q, k and v [B, T, H, d] in one pass over each head's scores, where a context is short
// enough for it, on a CPU.
int64_t longest_short();  // tokens; it keeps a share for every pair of them
bool is_short(const Tensor& q, const Tensor& k, const Tensor& v);
Tensor short_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale);

}  // namespace darope
