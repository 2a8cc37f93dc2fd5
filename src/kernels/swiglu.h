#pragma once
#include "kernels/rotate.h"

// What lies between the products of a SwiGLU: out = silu(gate) * up. Plain data in, no torch.
namespace darope::kernels {

template <class T>
struct SwiGlu {
  int64_t rows = 0, width = 0;
  const T* h = nullptr;  // [rows, 2 width]: gate, and up behind it
  T* out = nullptr;      // [rows, width]
};

template <class T>
struct SwiGluBackward {
  int64_t rows = 0, width = 0;
  const T *h = nullptr, *grad_out = nullptr;
  T* grad = nullptr;  // like h
};

bool swiglu_fits_cuda(int64_t width);  // else the library's steps
template <class T>
void swiglu_cuda(const SwiGlu<T>&, void* stream);  // T is float or bfloat16
template <class T>
void swiglu_cuda(const SwiGluBackward<T>&, void* stream);

}  // namespace darope::kernels
