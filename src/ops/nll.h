#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// The sum of -log softmax(logits [N, V])[targets [N]] by share [N]: a single node of autograd on a CPU.
Tensor summed_nll(const Tensor& logits, const Tensor& targets, const Tensor& share);

}  // namespace darope
