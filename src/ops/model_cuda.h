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

// kernels/adamw.h: one float32 tensor each of weights, moments and gradients, all laid out alike; an
// undefined low_gradient or copy is none, scalars are tensors of one element.
struct AdamWStep {
  Tensor weight, first, second, gradient, low_gradient, copy;
  int64_t decayed = 0;
  double beta1 = 0, beta2 = 0, epsilon = 0, decay = 0, clip = 0;
  Tensor rate, loss, steps, stopped, norm;
};
bool adamw_fits_on_cuda(const Tensor& weight, const Tensor& copy);
void adamw_on_cuda(const AdamWStep& step);

}  // namespace darope
