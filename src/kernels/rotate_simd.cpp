#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/simd.h"

// The CPU's rotation, sixteen bands of a head at a time. Compiled once per instruction set, each into a
// namespace of its own (DAROPE_ISA); cpu.cpp picks at run time.
namespace darope::kernels {
namespace {

// sin and cos of |x| <= 8 to about one float ulp: Taylor to degree 9 and 10 on [-pi/4, pi/4], without a
// branch.
inline void sin_cos(const Floats& x, Floats& sine, Floats& cosine) {
  constexpr float half_pi = 0x1.921FB6p0f, half_pi_rest = -0x1.777A5Cp-25f;
  Ints k;
  const Floats quarter = nearest(x * float(2 / std::numbers::pi), k);
  const Floats y = (x - quarter * half_pi) - quarter * half_pi_rest, z = y * y;
  const Floats s = y + y * z * (-1.f / 6 + z * (1.f / 120 + z * (-1.f / 5040 + z * (1.f / 362880))));
  const Floats c =
      1 + z * (-.5f + z * (1.f / 24 + z * (-1.f / 720 + z * (1.f / 40320 + z * (-1.f / 3628800)))));
  const Ints odd = -(k & 1);
  sine = Floats(Ints(odd ? c : s) ^ ((k & 2) << 30));
  cosine = Floats(Ints(odd ? s : c) ^ (((k + 1) & 2) << 30));
}
inline void sin_cos(const Vector<double>& x, Vector<double>& sine, Vector<double>& cosine) {
  for (int64_t i = 0; i < kLanes; ++i) sine[i] = std::sin(x[i]), cosine[i] = std::cos(x[i]);
}

// Angle m theta of a fast band, formed in double whatever the tensors are, and within (-pi, pi) for float.
template <class C>
inline C position_angle(double angle) {
  constexpr double turn = 2 * std::numbers::pi;
  return std::is_same_v<C, double> ? C(angle) : C(angle - turn * std::rint(angle / turn));
}

// What all tokens and heads share. Band j turns by angle[j] + share * factor[j]: one of the two terms is
// zero.
template <class C>
struct Turns {
  alignas(64) C factor[kMaxBands + kLanes];  // L theta_j of slow bands; 0 for fast ones and behind the last
  alignas(64) C angle[kMaxBands + kLanes];   // m theta_j of fast bands; 0 for slow ones
  alignas(64) C cosine[kMaxBands + kLanes],
      sine[kMaxBands + kLanes];  // of `angle`, where a whole vector depends on it alone
  int64_t tabled;                // bands before this one do

  Turns(const Bands& b, bool learned) : tabled(learned ? b.fast / kLanes * kLanes : b.count) {
    std::fill_n(factor, b.count + kLanes, C(0));
    std::fill_n(angle, b.count + kLanes, C(0));
    for (int64_t j = b.fast; j < b.count; ++j) factor[j] = C(b.length * b.theta[j]);
  }

  void move_to(const Bands& b, double position) {
    for (int64_t j = 0; j < b.fast; ++j) angle[j] = position_angle<C>(position * b.theta[j]);
    for (int64_t j = 0; j < tabled; j += kLanes) {
      Vector<C> s, c;
      sin_cos(read(angle + j, kLanes), s, c);
      write(cosine + j, c * C(b.scale), kLanes);
      write(sine + j, s * C(b.scale), kLanes);
    }
  }

  void at(int64_t j, const Vector<C>& share, Vector<C>& s, Vector<C>& c) const {
    if (j < tabled)
      s = read(sine + j, kLanes), c = read(cosine + j, kLanes);
    else
      sin_cos(read(angle + j, kLanes) + share * read(factor + j, kLanes), s, c);
  }
};

// n pairs of channels, from band j of a head's `count`.
template <Layout layout, class T>
inline void load_pairs(const T* head, int64_t j, int64_t count, int64_t n, Vector<Compute<T>>& x,
                       Vector<Compute<T>>& y) {
  if constexpr (layout == Layout::half) {
    x = load(head + j, n);
    y = load(head + count + j, n);
  } else {
    const auto a = load(head + 2 * j, 2 * n), b = load(head + 2 * j + kLanes, 2 * n - kLanes);
    x = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    y = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  }
}
template <Layout layout, class T>
inline void store_pairs(T* head, int64_t j, int64_t count, int64_t n, const Vector<Compute<T>>& x,
                        const Vector<Compute<T>>& y, bool past) {
  const auto put = [past](T* to, const Vector<Compute<T>>& v, int64_t m) {
    past ? store_past(to, v, m) : store(to, v, m);
  };
  if constexpr (layout == Layout::half) {
    put(head + j, x, n);
    put(head + count + j, y, n);
  } else {
    put(head + 2 * j, __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        2 * n);
    put(head + 2 * j + kLanes,
        __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
        2 * n - kLanes);
  }
}

template <class T>
inline T* at(const Heads<T>& x, int64_t batch, int64_t token, int64_t head) {
  return x.data + batch * x.batch + token * x.token + head * x.head;
}

// The shares of one token's heads: [Hk], or [Hk, slow] when each band has its own.
template <class C>
void learn_shares(const Bands& b, const Coordinate<C>& c, int64_t token, C prior) {
  const int64_t shares = c.per_band ? b.count - b.fast : 1, all = b.k_heads * shares;
  C* share = c.share + token * all;
  for (int64_t i = 0; i < all; i += kLanes) {
    Vector<C> logit = {};
    if (c.per_band)
      for (int64_t n = 0; n < std::min(kLanes, all - i); ++n)
        logit[n] = c.logit[token * b.k_heads + (i + n) / shares];
    else
      logit = read(c.logit + token * b.k_heads + i, all - i);
    if (c.alpha) logit += prior * read(c.alpha + i, all - i);
    write(share + i, 1 / (1 + exponential(-logit)), all - i);
  }
}

// The share of sixteen bands of head h.
template <class C>
inline Vector<C> share_of(const Bands& b, const Coordinate<C>& c, int64_t token, int64_t h, int64_t j) {
  if (!c.per_band) return Vector<C>{} + c.share[token * b.k_heads + h];
  Vector<C> out = {};
  const C* share = c.share + (token * b.k_heads + h) * (b.count - b.fast) - b.fast;
  for (int64_t i = std::max(j, b.fast); i < std::min(j + kLanes, b.count); ++i) out[i - j] = share[i];
  return out;
}

// `whole`: the bands fill their vectors, so that no load need ask how many are left.
template <Layout layout, bool whole, class T>
void forward(const Forward<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  using V = Vector<C>;
  const Bands& b = p.bands;
  const int64_t group = b.q_heads / b.k_heads;
  const bool learned = p.coordinate.logit, past = b.bytes(sizeof(T)) >= kPastCaches;
  Turns<C> turns(b, learned);
  for (int64_t token = first; token < last; ++token) {
    const int64_t batch = token / b.tokens, t = token % b.tokens, place = batch * b.position_stride + t;
    turns.move_to(b, b.positions[place]);
    const C prior = p.coordinate.prior ? C(positional_prior(b.positions[place], b.length)) : C(0);
    if (p.coordinate.prior && (batch == 0 || b.position_stride)) p.coordinate.prior[place] = prior;
    if (learned) learn_shares(b, p.coordinate, token, prior);
    for (int64_t h = 0; h < b.k_heads; ++h)
      for (int64_t j = 0; j < b.count; j += kLanes) {
        const int64_t n = whole ? kLanes : b.count - j;
        V s, c;
        turns.at(j, learned ? share_of(b, p.coordinate, token, h, j) : V{}, s, c);
        const auto rotate = [&](const T* in, T* out) {
          V x, y;
          load_pairs<layout>(in, j, b.count, n, x, y);
          store_pairs<layout>(out, j, b.count, n, x * c - y * s, x * s + y * c, past);
        };
        for (int64_t g = h * group; g < (h + 1) * group; ++g)
          rotate(at(p.q, batch, t, g), at(p.q_out, batch, t, g));
        rotate(at(p.k, batch, t, h), at(p.k_out, batch, t, h));
      }
  }
}

template <Layout layout, bool whole, class T>
void backward(const Backward<T>& p, int64_t first, int64_t last) {
  using C = Compute<T>;
  using V = Vector<C>;
  const Bands& b = p.bands;
  const int64_t group = b.q_heads / b.k_heads, slow = b.count - b.fast;
  const bool past = b.bytes(sizeof(T)) >= kPastCaches;
  Turns<C> turns(b, true);
  for (int64_t token = first; token < last; ++token) {
    const int64_t batch = token / b.tokens, t = token % b.tokens;
    turns.move_to(b, b.positions[batch * b.position_stride + t]);
    for (int64_t h = 0; h < b.k_heads; ++h) {
      V total = {};  // d loss / d angle * d angle / d share
      for (int64_t j = 0; j < b.count; j += kLanes) {
        const int64_t n = whole ? kLanes : b.count - j;
        V s, c, turn = {};
        const V share = share_of(b, p.coordinate, token, h, j);
        turns.at(j, share, s, c);
        const auto rotate_back = [&](const T* in, const T* grad, T* out) {
          V g1, g2, x, y;
          load_pairs<layout>(grad, j, b.count, n, g1, g2);
          const V d1 = g1 * c + g2 * s, d2 = g2 * c - g1 * s;
          store_pairs<layout>(out, j, b.count, n, d1, d2, past);
          if (j < turns.tabled) return;  // fast bands learn nothing
          load_pairs<layout>(in, j, b.count, n, x, y);
          turn += x * d2 - y * d1;
        };
        for (int64_t g = h * group; g < (h + 1) * group; ++g)
          rotate_back(at(p.q, batch, t, g), at(p.q_grad_out, batch, t, g), at(p.q_grad, batch, t, g));
        rotate_back(at(p.k, batch, t, h), at(p.k_grad_out, batch, t, h), at(p.k_grad, batch, t, h));
        turn *= read(turns.factor + j, kLanes);
        total += turn;
        if (p.coordinate.per_band) {
          const V grad = turn * share * (1 - share);
          for (int64_t i = std::max(j, b.fast); i < std::min(j + kLanes, b.count); ++i)
            p.logit_grad[(token * b.k_heads + h) * slow + i - b.fast] = grad[i - j];
        }
      }
      if (p.coordinate.per_band) continue;
      const C share = p.coordinate.share[token * b.k_heads + h];
      p.logit_grad[token * b.k_heads + h] = sum<C>(total) * share * (1 - share);
    }
  }
}

// run(layout, whole) with both as types.
template <class F>
void with_shape(const Bands& b, F&& run) {
  const auto with_layout = [&](auto layout) {
    b.count % kLanes ? run(layout, std::false_type()) : run(layout, std::true_type());
  };
  if (b.layout == Layout::half)
    with_layout(std::integral_constant<Layout, Layout::half>());
  else
    with_layout(std::integral_constant<Layout, Layout::interleaved>());
}

}  // namespace

namespace DAROPE_ISA {

#define DAROPE_ROTATE(T)                                                                                \
  void rotate(const Forward<T>& p, int64_t first, int64_t last) {                                       \
    with_shape(p.bands, [&](auto layout, auto whole) { forward<layout(), whole()>(p, first, last); });  \
    finish_stores();                                                                                    \
  }                                                                                                     \
  void rotate(const Backward<T>& p, int64_t first, int64_t last) {                                      \
    with_shape(p.bands, [&](auto layout, auto whole) { backward<layout(), whole()>(p, first, last); }); \
    finish_stores();                                                                                    \
  }
DAROPE_ROTATE(double)
DAROPE_ROTATE(float)
DAROPE_ROTATE(bfloat16)

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
