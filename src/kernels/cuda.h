#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/machine.h"
#include "kernels/rotate.h"

// What the CUDA kernels share.
namespace darope::kernels {
namespace {

__device__ inline double load(double x) { return x; }
__device__ inline float load(float x) { return x; }
__device__ inline float load(bfloat16 x) { return __bfloat162float(__ushort_as_bfloat16(x.bits)); }
__device__ inline float load(float16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline void store(double& to, double x) { to = x; }
__device__ inline void store(float& to, float x) { to = x; }
__device__ inline void store(bfloat16& to, float x) {
  to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
__device__ inline void store(float16& to, float x) { to.bits = __half_as_ushort(__float2half_rn(x)); }

// Neighbouring elements, fetched in as few instructions as the alignment promised by `Width` allows.
template <class T, int Width>
struct alignas(sizeof(T) * Width > 16 ? 16 : sizeof(T) * Width) Pack {
  T value[Width];
};

// sin and cos of |x| <= 8 to about one float ulp: Taylor to degree 9 and 10 on [-pi/4, pi/4], without a
// branch.
__device__ inline void sin_cos(float x, float& sine, float& cosine) {
  const float quarter = rintf(x * 0.636619772f);
  const float y = fmaf(quarter, 0x1.777A5Cp-25f, fmaf(quarter, -0x1.921FB6p0f, x)), z = y * y;
  const float s = y + y * z * (-1.f / 6 + z * (1.f / 120 + z * (-1.f / 5040 + z * (1.f / 362880))));
  const float c =
      1 + z * (-.5f + z * (1.f / 24 + z * (-1.f / 720 + z * (1.f / 40320 + z * (-1.f / 3628800)))));
  const int k = int(quarter);
  const float first = k & 1 ? c : s, second = k & 1 ? s : c;
  sine = k & 2 ? -first : first;
  cosine = (k + 1) & 2 ? -second : second;
}
__device__ inline void sin_cos(double x, double& s, double& c) { sincos(x, &s, &c); }

// For tensors of 16 bits by the processor's own sine, which on [-pi, pi] is off by 2^-21: nothing beside the
// rounding of the result.
template <class T>
__device__ void sin_cos_for(Compute<T> x, Compute<T>& s, Compute<T>& c) {
  if constexpr (sizeof(T) == 2) {
    const float turns = rintf(x * 0.159154943f);
    __sincosf(fmaf(turns, 0x1.777A5Cp-23f, fmaf(turns, -0x1.921FB6p2f, x)), &s, &c);
  } else {
    sin_cos(x, s, c);
  }
}

// Of an angle formed in double whatever the tensors are: m theta of a fast band, PoPE's delta.
template <class T>
__device__ void position_angle(double angle, Compute<T>& s, Compute<T>& c) {
  constexpr double turn = 6.283185307179586;
  if constexpr (std::is_same_v<T, double>)
    sincos(angle, &s, &c);
  else
    sin_cos_for<T>(float(angle - turn * rint(angle * (1 / turn))), s, c);
}

// Multiprocessors of the current device.
inline int64_t processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count > 0 ? count : 1;
}

inline void check_launch(const char* what) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace
}  // namespace darope::kernels
