#pragma once
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "kernels/machine.h"
#include "kernels/rotate.h"

// Sixteen numbers at a time, in the compiler's own vector extension. For files that are compiled once per
// instruction set and linked together: everything here has internal linkage, or the linker would keep one
// copy for all of them.
namespace darope::kernels {
namespace {

constexpr int64_t kLanes = 16;
template <class C>
struct Pack {
  typedef C type __attribute__((vector_size(kLanes * sizeof(C))));
};
template <class C>
using Vector = typename Pack<C>::type;
using Floats = Vector<float>;
using Ints = Vector<int32_t>;
using Words = Vector<uint32_t>;

// The first n of sixteen elements, zeros behind them; all sixteen when n is larger. The rare part has a
// function of its own, since a vector whose address is taken would live in memory.
template <class T>
[[gnu::noinline]] Vector<T> read_part(const T* from, int64_t n) {
  Vector<T> out = {};
  if (n > 0) std::memcpy(&out, from, size_t(n) * sizeof(T));
  return out;
}
template <class T>
[[gnu::noinline]] void write_part(T* to, Vector<T> x, int64_t n) {
  if (n > 0) std::memcpy(to, &x, size_t(n) * sizeof(T));
}
template <class T>
inline Vector<T> read(const T* from, int64_t n) {
  if (n < kLanes) [[unlikely]]
    return read_part(from, n);
  Vector<T> out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class T>
inline void write(T* to, const Vector<T>& x, int64_t n) {
  if (n < kLanes) [[unlikely]]
    write_part<T>(to, x, n);
  else
    std::memcpy(to, &x, sizeof x);
}

inline Vector<double> load(const double* from, int64_t n) { return read(from, n); }
inline Floats load(const float* from, int64_t n) { return read(from, n); }
inline Floats load(const bfloat16* from, int64_t n) {
  const auto bits = read(reinterpret_cast<const uint16_t*>(from), n);
  return Floats(__builtin_convertvector(bits, Words) << 16);
}

inline void store(double* to, const Vector<double>& x, int64_t n) { write(to, x, n); }
inline void store(float* to, const Floats& x, int64_t n) { write(to, x, n); }
inline void store(bfloat16* to, const Floats& x, int64_t n) {  // round to nearest even; NaN stays NaN
  const Words u = Words(x), rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  const Words bits = Ints(u & 0x7FFFFFFF) > 0x7F800000 ? Words{} + 0x7FC0 : rounded;
  write(reinterpret_cast<uint16_t*>(to), __builtin_convertvector(bits, Vector<uint16_t>), n);
}

// Past the caches, for results too large to be read from them anyway: the line need not be fetched before it
// is overwritten.
template <class T, class V>
inline void store_past(T* to, const V& x, int64_t n) {
  store(to, x, n);
}
#ifdef __AVX512F__
inline void store_past(float* to, const Floats& x, int64_t n) {
  if (n >= kLanes && reinterpret_cast<uintptr_t>(to) % sizeof x == 0)
    _mm512_stream_ps(to, __m512(x));
  else
    store(to, x, n);
}
inline void finish_stores() { _mm_sfence(); }  // others see them from here on
#else
inline void finish_stores() {}
#endif
using machine::kPastCaches;

template <class C>
inline C sum(const Vector<C>& x) {
  auto a = x + __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  a += __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
  a += __builtin_shufflevector(a, a, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  return a[0] + a[1];
}

// F is Floats with Words, or float with uint32_t for a loop that the compiler puts into vectors.
template <class F, class I>
inline F nearest(const F& x, I& integer) {  // |x| below 2^22
  constexpr float magic = 0x1.8p23f;
  const F shifted = x + magic;
  integer = __builtin_bit_cast(I, shifted);  // its low bits count
  return shifted - magic;
}

// e^x to about one float ulp: 2^n e^r with |r| <= ln 2 / 2, Taylor to degree 7. Beyond the floats it stays at
// their ends.
template <class F, class I>
inline F exponential_of(F x) {
  constexpr float log2 = 0x1.62E430p-1f, log2_rest = -0x1.05C610p-29f;
  x = x > 88.f ? F{} + 88.f : x < -87.f ? F{} - 87.f : x;
  I n;
  const F times = nearest(x * float(std::numbers::log2e), n);
  const F r = (x - times * log2) - times * log2_rest;
  const F e =
      1 +
      r * (1 + r * (1.f / 2 +
                    r * (1.f / 6 + r * (1.f / 24 + r * (1.f / 120 + r * (1.f / 720 + r * (1.f / 5040)))))));
  const F out = __builtin_bit_cast(F, __builtin_bit_cast(I, e) + (n << 23));
  return x == x ? out : x;  // the sum would make a number of some NaNs
}
inline Floats exponential(const Floats& x) { return exponential_of<Floats, Words>(x); }
inline float exponential(float x) { return exponential_of<float, uint32_t>(x); }
inline double exponential(double x) { return std::exp(x); }
inline Vector<double> exponential(Vector<double> x) {
  for (int64_t i = 0; i < kLanes; ++i) x[i] = std::exp(x[i]);
  return x;
}

template <int64_t n>
using Number = std::integral_constant<int64_t, n>;

// run(i, n) in whole blocks of `block`, and what is left in halves of it; n is a constant, so that a block
// stays in registers.
template <int64_t block, class F>
inline void in_blocks(int64_t first, int64_t last, F&& run) {
  for (; first + block <= last; first += block) run(first, Number<block>());
  if constexpr (block > 1) in_blocks<block / 2>(first, last, run);
}

}  // namespace
}  // namespace darope::kernels
