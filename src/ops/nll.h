#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// The mean of -log softmax(logits [N, V])[targets [N]] by weight [N]: a single node of autograd on a CPU.
Tensor weighted_nll(const Tensor& logits, const Tensor& targets, const Tensor& weight);

}  // namespace darope
