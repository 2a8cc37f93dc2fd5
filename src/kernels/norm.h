#pragma once
#include "kernels/rotate.h"

// Root-mean-square norm of a residual stream, with the addition before it: plain data in, no torch.
//   sum = x + delta,  out = sum / sqrt(mean(sum^2) + eps) * weight
namespace darope::kernels {

template <class T>
struct Norm {
  int64_t rows = 0, width = 0;
  double eps = 0;
  const T *x = nullptr, *delta = nullptr;  // [rows, width]; delta null: nothing is added
  const T* weight = nullptr;               // [width]
  T *sum = nullptr, *out = nullptr;        // sum is written where delta is given
  float* scale = nullptr;                  // [rows]: 1 / sqrt(...), for the way back
};

template <class T>
struct NormBackward {
  int64_t rows = 0, width = 0;
  const T *sum = nullptr, *weight = nullptr;
  const float* scale = nullptr;
  const T *grad_sum = nullptr, *grad_out = nullptr;  // grad_sum null: the sum is used no further
  T* grad = nullptr;                                 // of x and delta alike
  float* weight_parts = nullptr;  // [norm_parts(rows), width]: the weight's gradient is the sum of its rows
};

bool norm_fits_cuda(int64_t width);  // else the library's composed one
int64_t norm_parts(int64_t rows);
template <class T>
void norm_cuda(const Norm<T>&, void* stream);  // T is float or bfloat16
template <class T>
void norm_cuda(const NormBackward<T>&, void* stream);

}  // namespace darope::kernels
