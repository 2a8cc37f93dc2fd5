#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace darope {
using at::Tensor;

// The outputs of a part of the model, of which autograd keeps the two inputs alone: the backward pass runs it
// again and goes through what it then finds. Gradients of weights come to the same, in the same order; what
// is drawn at random is drawn again. Called with `random`, it must not be recorded as a CUDA graph.
using Recomputable = std::function<std::vector<Tensor>(const Tensor& x, const Tensor& normed)>;
std::vector<Tensor> recomputed(const Recomputable& part, const Tensor& x, const Tensor& normed, bool random);

}  // namespace darope
