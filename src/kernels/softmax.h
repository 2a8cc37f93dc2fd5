#pragma once
#include "kernels/rotate.h"

// Negative log-likelihood of one target a row, and the gradient of the logits in their place. Plain data, no
// torch.
namespace darope::kernels {

template <class T>
struct SoftmaxNll {
  int64_t rows = 0, width = 0;
  T* logits = nullptr;               // [rows, width]; becomes (softmax - target) * share
  const int64_t* targets = nullptr;  // [rows]
  const float* share = nullptr;      // [rows]: what a row's loss counts
  float* nll = nullptr;              // [rows]
};

bool softmax_nll_fits_cuda(int64_t width);  // else the library's steps
template <class T>
void softmax_nll_cuda(const SoftmaxNll<T>&, void* stream);  // T is float or bfloat16

}  // namespace darope::kernels
