#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Rotation of q and k by position and, on the slow bands, by a learned coordinate: plain data in, no torch.
//
// Band j of a head is a pair of channels, (2j, 2j+1) interleaved or (j, j + d/2) half-split. A token at
// position m turns
//   band j < fast   by  m theta_j,
//   band j >= fast  by  share * (L theta_j),  share = sigmoid(logit + alpha beta_m),  when there is a
//   coordinate,
//                   not at all otherwise.
// The factor L theta_j of a slow band lies in (0, 2 pi), so a low-precision angle never meets a large number
// (Eq. 4-6).
namespace darope::kernels {

inline constexpr int64_t kMaxBands = 512;

enum class Layout { interleaved, half };

struct bfloat16 {
  uint16_t bits;
};
struct float16 {
  uint16_t bits;
};
// Angles and sums are formed in float, or in double for double tensors.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// A [B, T, H, d] tensor with contiguous channels; the strides count elements.
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t batch = 0, token = 0, head = 0;
};

// Where tokens sit, how fast bands turn.
struct Bands {
  int64_t batch = 0, tokens = 0, q_heads = 0, k_heads = 0;
  int64_t count = 0, fast = 0;  // count = d/2
  Layout layout = Layout::interleaved;
  const double* positions = nullptr;  // [T], or [B, T]
  int64_t position_stride = 0;        // T for [B, T], 0 for [T]
  double scale = 1;                   // on cosine and sine alike: YaRN's temperature
  double length = 0;                  // L
  double theta[kMaxBands] = {};
  int64_t bytes(size_t element) const {
    return batch * tokens * q_heads * 2 * count * int64_t(element);
  }  // of q
};

// The learned coordinate of slow bands, as a share of L: one per token and key head, or one per slow band of
// it.
template <class C>
struct Coordinate {
  const C* logit = nullptr;  // [B, T, Hk]: w_h . x
  const C* alpha = nullptr;  // [Hk], or [Hk, slow] when per_band; null without a prior
  C* share = nullptr;        // [B, T, Hk] or [B, T, Hk, slow]: written forward, read backward
  C* prior = nullptr;        // like positions: beta_m, written forward
  bool per_band = false;
};

template <class T>
struct Forward {
  Bands bands;
  Coordinate<Compute<T>> coordinate;  // logit null: no coordinate
  Heads<const T> q, k;
  Heads<T> q_out, k_out;
};

// Gradient of Forward with a coordinate. The angle's gradient is the cross product of a pair with its
// gradient, which does not change under rotation: the inputs are taken, since the rotated q and k have been
// rounded.
template <class T>
struct Backward {
  Bands bands;
  Coordinate<Compute<T>> coordinate;
  Heads<const T> q, k, q_grad_out, k_grad_out;
  Heads<T> q_grad, k_grad;
  Compute<T>* logit_grad = nullptr;  // like share
};

// Tokens first .. last-1 of the B*T tokens. P is Forward or Backward of double, float or bfloat16.
template <class P>
void rotate_cpu(const P&, int64_t first, int64_t last);

// All tokens, on a CUDA stream (a cudaStream_t); float16 too. Launches, and does not wait.
template <class T>
void rotate_cuda(const Forward<T>&, void* stream);
template <class T>
void rotate_cuda(const Backward<T>&, void* stream);

// beta_m = logit((m + 1/2) / L), clipped to [1e-6, 1 - 1e-6] of L (Eq. 3): the same constant for every m >=
// L.
double positional_prior(double position, double length);

}  // namespace darope::kernels
