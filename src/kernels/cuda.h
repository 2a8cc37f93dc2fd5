#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <stdexcept>
#include <string>
#include <type_traits>

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
__device__ inline void store(bfloat16& to, float x) { to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
__device__ inline void store(float16& to, float x) { to.bits = __half_as_ushort(__float2half_rn(x)); }

// Neighbouring elements, fetched in as few instructions as the alignment promised by `Width` allows.
template <class T, int Width> struct alignas(sizeof(T) * Width > 16 ? 16 : sizeof(T) * Width) Pack {
  T value[Width];
};

inline void check_launch(const char* what) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

}  // namespace
}  // namespace darope::kernels
