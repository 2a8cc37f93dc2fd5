#include "kernels/gelu.h"
#include "kernels/simd.h"

// Compiled once per instruction set, each into a namespace of its own (DAROPE_ISA); cpu.cpp picks at run
// time.
namespace darope::kernels {
namespace {

// Phi(-t) e^(t^2 / 2) of t >= 0 in s = t / (t + 4), to 1.3e-8 of itself up to t = 13.5, where Phi(-t) has
// left the floats; exact at 0.
inline float scaled_tail(float t) {
  constexpr float c[] = {-1.5957684641f, 2.4042082427f, -2.1062727233f, .8705418854f, .1080092197f,
                         -.2061480891f,  -.0520172268f, .1121171211f,   -.0346938757f};
  const float s = t / (t + 4);
  float sum = c[8];
#pragma GCC unroll 8
  for (int64_t i = 7; i >= 0; --i) sum = sum * s + c[i];
  return sum * s + .5f;
}

}  // namespace

namespace DAROPE_ISA {

void gelu(float* x, float* out, int64_t first, int64_t last) {
  constexpr float density = float(std::numbers::inv_sqrtpi / std::numbers::sqrt2);
#pragma omp simd
  for (int64_t i = first; i < last; ++i) {
    const float v = x[i], bell = exponential(v * v * -.5f), tail = bell * scaled_tail(v < 0 ? -v : v),
                phi = v < 0 ? tail : 1 - tail;
    out[i] = v * phi;
    x[i] = phi + v * (density * bell);
  }
}

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
