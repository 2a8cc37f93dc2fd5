#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

struct NormOutputs {
  Tensor sum, norm, scale;
};
struct NormGrads {
  Tensor x, weight;
};

// The GPU's side of norm.h and products.h; without CUDA in the build nothing fits.

// An undefined delta or grad_sum is none.
bool norm_fits_on_cuda(const Tensor& x);
NormOutputs norm_on_cuda(const Tensor& x, const Tensor& delta, const Tensor& weight, double eps);
NormGrads norm_backward_on_cuda(const Tensor& grad_sum, const Tensor& grad_norm, const Tensor& sum,
                                const Tensor& weight, const Tensor& scale);

// h [rows, 2 width] -> silu(gate) * up [rows, width]
bool swiglu_fits_on_cuda(const Tensor& h);
Tensor swiglu_on_cuda(const Tensor& h);
Tensor swiglu_backward_on_cuda(const Tensor& grad, const Tensor& h);

// logits [rows, V] become the gradient of the sum of nll by share; nll [rows] in float32
bool softmax_nll_fits_on_cuda(const Tensor& logits);
void softmax_nll_on_cuda(const Tensor& logits, const Tensor& targets, const Tensor& share, const Tensor& nll);

}  // namespace darope
