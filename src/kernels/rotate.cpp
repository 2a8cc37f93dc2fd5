#include "kernels/rotate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

// One build serves every x86-64: the compiler makes a clone per instruction set and the loader picks. The loops below are
// written to be vectorised by it; `flatten` pulls their helpers into each clone.
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12
#define DAROPE_CLONES __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DAROPE_CLONES
#endif

namespace darope::kernels {
namespace {

inline double load(double x) { return x; }
inline float load(float x) { return x; }
inline float load(bfloat16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }

inline void store(double& to, double x) { to = x; }
inline void store(float& to, float x) { to = x; }
inline void store(bfloat16& to, float x) {                                  // round to nearest even; NaN stays NaN
  const uint32_t u = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  to.bits = uint16_t((u & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);
}

// sin and cos of |x| <= 8 to about one float ulp: Taylor to degree 9 and 10 on [-pi/4, pi/4], without a branch.
inline void sin_cos(float x, float& sine, float& cosine) {
  constexpr float half_pi = 0x1.921FB6p0f, half_pi_rest = -0x1.777A5Cp-25f;
  const float quarter = std::rint(x * float(2 / std::numbers::pi));
  const float y = (x - quarter * half_pi) - quarter * half_pi_rest, z = y * y;
  const float s = y + y * z * (-1.f / 6 + z * (1.f / 120 + z * (-1.f / 5040 + z * (1.f / 362880))));
  const float c = 1 + z * (-.5f + z * (1.f / 24 + z * (-1.f / 720 + z * (1.f / 40320 + z * (-1.f / 3628800)))));
  const int k = int(quarter);
  const float first = k & 1 ? c : s, second = k & 1 ? s : c;
  sine = k & 2 ? -first : first;
  cosine = (k + 1) & 2 ? -second : second;
}
inline void sin_cos(double x, double& sine, double& cosine) {
  sine = std::sin(x);
  cosine = std::cos(x);
}

// Angle m theta of a fast band, formed in double whatever the tensors are.
inline void position_angle(double angle, double& sine, double& cosine) { sin_cos(angle, sine, cosine); }
inline void position_angle(double angle, float& sine, float& cosine) {
  constexpr double turn = 2 * std::numbers::pi;
  sin_cos(float(angle - turn * std::rint(angle / turn)), sine, cosine);
}

// Loops over slow bands begin and end on a whole vector: no band is left to be done one by one, and what one loop stores
// the next can load without a stall. What lies behind the last band is never used.
constexpr int64_t kVector = 16;

template <class C> struct Angles {
  alignas(64) C cosine[kMaxBands + kVector];
  alignas(64) C sine[kMaxBands + kVector];
};

// L theta_j of the slow bands, zero for the fast ones and behind the last.
template <class C> struct Factors {
  alignas(64) C value[kMaxBands + kVector];
  explicit Factors(const Bands& b) {
    std::fill_n(value, b.count + kVector, C(0));
    for (int64_t j = b.fast; j < b.count; ++j) value[j] = C(b.length * b.theta[j]);
  }
};

template <class C> inline void turn_by_position(const Bands& b, double position, Angles<C>& angles) {
  for (int64_t j = 0; j < b.fast; ++j) {
    C sine, cosine;
    position_angle(position * b.theta[j], sine, cosine);
    angles.cosine[j] = cosine * C(b.scale);
    angles.sine[j] = sine * C(b.scale);
  }
  for (int64_t j = b.fast; j < b.count; ++j) angles.cosine[j] = C(b.scale), angles.sine[j] = 0;
}

// The slow bands of one head; the fast ones keep what `angles` has.
template <class C> inline void turn_by_share(const Bands& b, const Factors<C>& factors, const C* share, bool per_band, Angles<C>& angles) {
  if (per_band) {
    for (int64_t j = b.fast; j < b.count; ++j) sin_cos(share[j - b.fast] * factors.value[j], angles.sine[j], angles.cosine[j]);
    return;
  }
  for (int64_t first = b.fast / kVector * kVector; first < b.count; first += kVector)
    for (int64_t j = first; j < first + kVector; ++j) {
      C sine, cosine;
      sin_cos(share[0] * factors.value[j], sine, cosine);
      angles.sine[j] = j < b.fast ? angles.sine[j] : sine;
      angles.cosine[j] = j < b.fast ? angles.cosine[j] : cosine;
    }
}

// R(angle) on one head; with a negative sine, its inverse.
template <class T, class C> inline void rotate_head(const Bands& b, const T* __restrict in, T* __restrict out, const Angles<C>& angles) {
  const auto pair = [&](int64_t first, int64_t second, int64_t j) {
    const C x = load(in[first]), y = load(in[second]), c = angles.cosine[j], s = angles.sine[j];
    store(out[first], x * c - y * s);
    store(out[second], x * s + y * c);
  };
  if (b.layout == Layout::interleaved)
    for (int64_t j = 0; j < b.count; ++j) pair(2 * j, 2 * j + 1, j);
  else
    for (int64_t j = 0; j < b.count; ++j) pair(j, j + b.count, j);
}

// The inverse rotation of a gradient, and d loss / d angle of every band added up in `turn`.
template <class T, class C>
inline void rotate_head_back(const Bands& b, const T* __restrict in, const T* __restrict grad, T* __restrict out, const Angles<C>& angles, C* __restrict turn) {
  const auto pair = [&](int64_t first, int64_t second, int64_t j) {
    const C g1 = load(grad[first]), g2 = load(grad[second]), c = angles.cosine[j], s = angles.sine[j];
    const C d1 = g1 * c + g2 * s, d2 = g2 * c - g1 * s;
    store(out[first], d1);
    store(out[second], d2);
    turn[j] += C(load(in[first])) * d2 - C(load(in[second])) * d1;
  };
  if (b.layout == Layout::interleaved)
    for (int64_t j = 0; j < b.count; ++j) pair(2 * j, 2 * j + 1, j);
  else
    for (int64_t j = 0; j < b.count; ++j) pair(j, j + b.count, j);
}

template <class T> inline T* at(const Heads<T>& x, int64_t batch, int64_t token, int64_t head) {
  return x.data + batch * x.batch + token * x.token + head * x.head;
}

template <class C> inline C sigmoid(C x) { return 1 / (1 + std::exp(-x)); }

template <class T> inline void rotate(const Forward<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  const Bands& b = p.bands;
  const int64_t group = b.q_heads / b.k_heads, slow = b.count - b.fast, shares = p.coordinate.per_band ? slow : 1;
  Angles<C> angles;
  const Factors<C> factors(b);
  for (int64_t token = first; token < last; ++token) {
    const int64_t batch = token / b.tokens, t = token % b.tokens;
    const int64_t place = batch * b.position_stride + t;
    turn_by_position(b, b.positions[place], angles);
    const C prior = p.coordinate.prior ? C(positional_prior(b.positions[place], b.length)) : C(0);
    if (p.coordinate.prior && (batch == 0 || b.position_stride)) p.coordinate.prior[place] = prior;
    for (int64_t h = 0; h < b.k_heads; ++h) {
      if (p.coordinate.logit) {
        const C logit = p.coordinate.logit[token * b.k_heads + h];
        C* share = p.coordinate.share + (token * b.k_heads + h) * shares;
        for (int64_t j = 0; j < shares; ++j) share[j] = sigmoid(logit + (p.coordinate.alpha ? p.coordinate.alpha[h * shares + j] * prior : 0));
        turn_by_share(b, factors, share, p.coordinate.per_band, angles);
      }
      for (int64_t g = h * group; g < (h + 1) * group; ++g) rotate_head(b, at(p.q, batch, t, g), at(p.q_out, batch, t, g), angles);
      rotate_head(b, at(p.k, batch, t, h), at(p.k_out, batch, t, h), angles);
    }
  }
}

template <class T> inline void rotate_backward(const Backward<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  const Bands& b = p.bands;
  const int64_t group = b.q_heads / b.k_heads, slow = b.count - b.fast, shares = p.coordinate.per_band ? slow : 1;
  Angles<C> angles;
  const Factors<C> factors(b);
  alignas(64) C turn[kMaxBands];
  for (int64_t token = first; token < last; ++token) {
    const int64_t batch = token / b.tokens, t = token % b.tokens;
    turn_by_position(b, b.positions[batch * b.position_stride + t], angles);
    for (int64_t h = 0; h < b.k_heads; ++h) {
      const C* share = p.coordinate.share + (token * b.k_heads + h) * shares;
      turn_by_share(b, factors, share, p.coordinate.per_band, angles);
      std::fill_n(turn, b.count, C(0));
      for (int64_t g = h * group; g < (h + 1) * group; ++g)
        rotate_head_back(b, at(p.q, batch, t, g), at(p.q_grad_out, batch, t, g), at(p.q_grad, batch, t, g), angles, turn);
      rotate_head_back(b, at(p.k, batch, t, h), at(p.k_grad_out, batch, t, h), at(p.k_grad, batch, t, h), angles, turn);
      C* grad = p.logit_grad + (token * b.k_heads + h) * shares;
      if (p.coordinate.per_band) {
        for (int64_t j = 0; j < slow; ++j) grad[j] = turn[b.fast + j] * factors.value[b.fast + j] * share[j] * (1 - share[j]);
      } else {
        C sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < b.count; ++j) sum += turn[j] * factors.value[j];
        grad[0] = sum * share[0] * (1 - share[0]);
      }
    }
  }
}

DAROPE_CLONES void run(const Forward<double>& p, int64_t first, int64_t last) { rotate(p, first, last); }
DAROPE_CLONES void run(const Forward<float>& p, int64_t first, int64_t last) { rotate(p, first, last); }
DAROPE_CLONES void run(const Forward<bfloat16>& p, int64_t first, int64_t last) { rotate(p, first, last); }
DAROPE_CLONES void run(const Backward<double>& p, int64_t first, int64_t last) { rotate_backward(p, first, last); }
DAROPE_CLONES void run(const Backward<float>& p, int64_t first, int64_t last) { rotate_backward(p, first, last); }
DAROPE_CLONES void run(const Backward<bfloat16>& p, int64_t first, int64_t last) { rotate_backward(p, first, last); }

}  // namespace

double positional_prior(double position, double length) {
  const double m = std::clamp(position + 0.5, 1e-6 * length, (1 - 1e-6) * length);
  return std::log(m / (length - m));
}

template <class T> void rotate_cpu(const Forward<T>& p, int64_t first, int64_t last) { run(p, first, last); }
template <class T> void rotate_cpu(const Backward<T>& p, int64_t first, int64_t last) { run(p, first, last); }
template void rotate_cpu(const Forward<double>&, int64_t, int64_t);
template void rotate_cpu(const Forward<float>&, int64_t, int64_t);
template void rotate_cpu(const Forward<bfloat16>&, int64_t, int64_t);
template void rotate_cpu(const Backward<double>&, int64_t, int64_t);
template void rotate_cpu(const Backward<float>&, int64_t, int64_t);
template void rotate_cpu(const Backward<bfloat16>&, int64_t, int64_t);

}  // namespace darope::kernels
