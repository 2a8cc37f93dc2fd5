#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// Products with weights [out, in], each a single node of autograd: in a small model the nodes cost as much as
// the products do.
Tensor product(const Tensor& x, const Tensor& weight);                   // x [..., in] -> [..., out]
Tensor gelu_mlp(const Tensor& x, const Tensor& up, const Tensor& down);  // down gelu(up x)
Tensor swiglu_mlp(const Tensor& x, const Tensor& gate_up,
                  const Tensor& down);  // down (silu(gate x) * up x), gate above up

// Its middle alone, h [rows, 2 width] -> [rows, width], and the gradient of h, for which `grad` may be
// written over.
Tensor swiglu(const Tensor& h);
Tensor swiglu_backward(Tensor& grad, const Tensor& h);

}  // namespace darope
