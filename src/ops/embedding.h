#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// Rows of weight [vocabulary, width]. On a GPU the gradient of a small vocabulary is one product with the
// tokens' indicator matrix, where the library sorts the tokens first; what is not finite in it then reaches
// every row.
Tensor embed(const Tensor& weight, const Tensor& tokens);

}  // namespace darope
