#pragma once
#include "kernels/rotate.h"

// PoPE's coordinates (Eq. 7): plain data in, no torch. Channel c of head h becomes
//   softplus(x) (cos a, sin a),  a = m base^(-c/d) + delta[h, c],
// a head's cosines before its sines.
namespace darope::kernels {

struct PolarShape {
  int64_t batch = 0, tokens = 0, heads = 0, width = 0;  // width = d
  double base = 0;
  const double* positions = nullptr;  // [T], or [B, T]
  int64_t position_stride = 0;        // T for [B, T], 0 for [T]
  const float* delta = nullptr;       // [H, d]; null: none
};

template <class T>
struct Polar {
  PolarShape shape;
  Heads<const T> x;  // heads side by side
  T* out = nullptr;  // [B, T, H, 2d]
};

template <class T>
struct PolarBackward {
  PolarShape shape;
  Heads<const T> x;
  const T* grad_out = nullptr;  // [B, T, H, 2d]
  T* grad = nullptr;            // [B, T, H, d]
  float* delta_parts =
      nullptr;  // [polar_parts(shape), H d]: delta's gradient is the sum of its rows; null: not wanted
};

bool polar_fits_cuda(int64_t heads, int64_t width);
int64_t polar_parts(const PolarShape&);
template <class T>
void polar_cuda(const Polar<T>&, void* stream);  // T is float, bfloat16 or float16
template <class T>
void polar_cuda(const PolarBackward<T>&, void* stream);

}  // namespace darope::kernels
