#pragma once
#include <ATen/core/Tensor.h>

// The last product of a language model and its loss. With a large vocabulary the logits of all rows would be
// most of a step's memory and much of its time, so they exist for a chunk of rows at a time.
namespace darope {
using at::Tensor;

constexpr int64_t kLogitsAtOnce = int64_t{1} << 30;  // bytes: enough for products at full speed

// The sum of -log softmax(hidden [N, D] head[V, D]^T)[targets [N]] by share [N]. Where it goes through
// chunks, gradients are made beside the loss and only scaled in the backward pass.
Tensor head_loss(const Tensor& hidden, const Tensor& head, const Tensor& targets, const Tensor& share,
                 int64_t at_once = kLogitsAtOnce);

// Of each row, for scoring: [N] in float32 at least, without a gradient.
Tensor head_nll(const Tensor& hidden, const Tensor& head, const Tensor& targets,
                int64_t at_once = kLogitsAtOnce);

}  // namespace darope
