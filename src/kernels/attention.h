#pragma once
#include "kernels/rotate.h"

// Causal attention over contexts so short that a head's scores stay in the near caches, where a library's
// call for each of a head's products costs more than the product.
//   shares = softmax(scale q k^T, up to the query's own token),  out = shares v
namespace darope::kernels {

inline constexpr int64_t kMaxTokens = 128, kMaxWidth = 128;
inline constexpr int64_t kShareLanes = 16;
inline int64_t share_row(int64_t tokens) {
  return (tokens + kShareLanes - 1) / kShareLanes * kShareLanes;
}  // padded to whole vectors

template <class T>
struct Attention {
  int64_t tokens = 0, heads = 0, width = 0;  // of a head: a multiple of kShareLanes
  T scale = 1;
  Heads<const T> q, k, v;
  Heads<T> out;
  T* shares = nullptr;  // [B, H, T, share_row(T)], for the way back: written as far as it will be read
};

template <class T>
struct AttentionBackward {
  int64_t tokens = 0, heads = 0, width = 0;
  T scale = 1;
  Heads<const T> q, k, v, out_grad;
  Heads<T> q_grad, k_grad, v_grad;
  const T* shares = nullptr;
};

// Heads first .. last-1 of the B*H. P is Attention or AttentionBackward of double or float.
template <class P>
void attend_cpu(const P&, int64_t first, int64_t last);

}  // namespace darope::kernels
