#include <algorithm>
#include <limits>

#include "kernels/attention.h"
#include "kernels/tile.h"

// A head's attention, some rows of queries at a time. Compiled once per instruction set, each into a
// namespace of its own (DAROPE_ISA); cpu.cpp picks at run time.
namespace darope::kernels {
namespace {

static_assert(kShareLanes == kLanes);

template <class T>
Rows<T> rows(const Heads<T>& x, int64_t batch, int64_t head) {
  return {x.data + batch * x.batch + head * x.head, x.token};
}
template <class T>
Left<std::remove_const_t<T>> left(const Rows<T>& x) {
  return {x.data, x.row, 1};
}
template <class T>
Left<std::remove_const_t<T>> turned(const Rows<T>& x) {
  return {x.data, 1, x.row};
}

template <class T, class F>
inline T fold(const T (&lanes)[kLanes], F&& join) {
  static_assert(kLanes == 16);
  T half[8];
  for (int64_t i = 0; i < 8; ++i) half[i] = join(lanes[i], lanes[i + 8]);
  for (int64_t i = 0; i < 4; ++i) half[i] = join(half[i], half[i + 4]);
  for (int64_t i = 0; i < 2; ++i) half[i] = join(half[i], half[i + 2]);
  return join(half[0], half[1]);
}

// run(j, lane) over whole vectors: a loop of known length goes into registers of any size.
template <class F>
inline void for_lanes(int32_t padded, F&& run) {
  for (int32_t j = 0; j < padded; j += kLanes)
#pragma omp simd
    for (int32_t i = 0; i < int32_t(kLanes); ++i) run(j + i, i);
}

// One row of scores to shares of the first `keys` keys; zeros behind them.
template <class T>
inline void softmax(T* row, int32_t keys, int32_t padded, T scale) {
  constexpr T none = -std::numeric_limits<T>::infinity();
  T tops[kLanes], totals[kLanes] = {};
  for (T& top : tops) top = none;
  for_lanes(padded, [&](int32_t j, int32_t lane) {
    row[j] = j < keys ? row[j] * scale : none;
    tops[lane] = row[j] > tops[lane] ? row[j] : tops[lane];
  });
  const T top = fold(tops, [](T a, T b) { return a > b ? a : b; });
  for_lanes(padded, [&](int32_t j, int32_t lane) {
    row[j] = j < keys ? exponential(row[j] - top) : T(0);
    totals[lane] += row[j];
  });
  const T part = 1 / fold(totals, [](T a, T b) { return a + b; });
  for_lanes(padded, [&](int32_t j, int32_t) { row[j] *= part; });
}

// run(i, n, keys, seen): n queries from i on, and the keys that some of them see, also in whole vectors.
// Shares behind those are never read.
template <class F>
inline void for_queries(int64_t tokens, F&& run) {
  for (int64_t i = 0; i < tokens; i += kTileRows) {
    const int64_t n = std::min(kTileRows, tokens - i);
    run(i, n, i + n, share_row(i + n));
  }
}

template <class T>
void forward(const Attention<T>& p, int64_t first, int64_t last) {
  const int64_t padded = share_row(p.tokens);
  alignas(64) T turned_keys[kMaxWidth * kMaxTokens];
  const Rows<T> keys_t{turned_keys, padded};
  for (int64_t each = first; each < last; ++each) {
    const int64_t batch = each / p.heads, head = each % p.heads;
    const Rows<const T> q = rows(p.q, batch, head), k = rows(p.k, batch, head), v = rows(p.v, batch, head);
    const Rows<T> out = rows(p.out, batch, head), shares{p.shares + each * p.tokens * padded, padded};
    transpose(k, p.tokens, p.width, keys_t);
    for_queries(p.tokens, [&](int64_t i, int64_t n, int64_t keys, int64_t seen) {
      multiply<T>(left(q).from(i, 0), {keys_t.data, padded}, n, seen, p.width, shares.from(i, 0));
      for (int64_t r = i; r < i + n; ++r)
        softmax(shares.from(r, 0).data, int32_t(r + 1), int32_t(seen), p.scale);
      multiply<T>(left(shares).from(i, 0), v, n, p.width, keys, out.from(i, 0));
    });
  }
}

// d score = share (d share - sum(share d share)), in the place of d share.
template <class T>
inline void softmax_backward(const T* share, T* grad, int32_t padded, T scale) {
  T totals[kLanes] = {};
  for_lanes(padded, [&](int32_t j, int32_t lane) { totals[lane] += share[j] * grad[j]; });
  const T mean = fold(totals, [](T a, T b) { return a + b; });
  for_lanes(padded, [&](int32_t j, int32_t) { grad[j] = share[j] * (grad[j] - mean) * scale; });
}

template <class T>
void backward(const AttentionBackward<T>& p, int64_t first, int64_t last) {
  const int64_t padded = share_row(p.tokens);
  alignas(64) T turned_values[kMaxWidth * kMaxTokens], score_grads[kMaxTokens * kMaxTokens];
  const Rows<T> values_t{turned_values, padded}, grads{score_grads, padded};
  for (int64_t each = first; each < last; ++each) {
    const int64_t batch = each / p.heads, head = each % p.heads;
    const Rows<const T> q = rows(p.q, batch, head), k = rows(p.k, batch, head), v = rows(p.v, batch, head),
                        up = rows(p.out_grad, batch, head);
    const Rows<const T> shares{p.shares + each * p.tokens * padded, padded};
    const Rows<T> dq = rows(p.q_grad, batch, head), dk = rows(p.k_grad, batch, head),
                  dv = rows(p.v_grad, batch, head);
    transpose(v, p.tokens, p.width, values_t);
    for_queries(p.tokens, [&](int64_t i, int64_t n, int64_t keys, int64_t seen) {
      multiply<T>(left(up).from(i, 0), {values_t.data, padded}, n, seen, p.width, grads.from(i, 0));
      for (int64_t r = i; r < i + n; ++r)
        softmax_backward(shares.from(r, 0).data, grads.from(r, 0).data, int32_t(seen), p.scale);
      multiply<T>(left(grads).from(i, 0), k, n, p.width, keys, dq.from(i, 0));
    });
    for_queries(p.tokens, [&](int64_t j, int64_t n, int64_t,
                              int64_t) {  // keys j .. are seen by the queries from j on
      multiply<T>(turned(shares).from(j, j), up.from(j, 0), n, p.width, p.tokens - j, dv.from(j, 0));
      multiply<T>(turned(grads).from(j, j), q.from(j, 0), n, p.width, p.tokens - j, dk.from(j, 0));
    });
  }
}

}  // namespace

namespace DAROPE_ISA {

#define DAROPE_ATTEND(T)                                                                       \
  void attend(const Attention<T>& p, int64_t first, int64_t last) { forward(p, first, last); } \
  void attend(const AttentionBackward<T>& p, int64_t first, int64_t last) { backward(p, first, last); }
DAROPE_ATTEND(double)
DAROPE_ATTEND(float)

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
