#pragma once
#include "kernels/rotate.h"

// CoPE's attention weights from products: plain data in, no torch. Query i of a head sees keys first .. n-1,
// n = keys - queries + i + 1:
//   s_j = scale * content_j,  count_j = min(sum over u >= j of sigmoid(s_u), P - 1),
//   weights_j = softmax over j of s_j + z[count_j],  z read between two places where a count is no whole
//   number.
namespace darope::kernels {

struct CopeShape {
  int64_t count = 0, heads = 0, queries = 0, keys = 0, places = 0;  // count = B * H * queries; places = P
  double scale = 1;
  const int64_t* first = nullptr;  // [B, queries]: the first key that a query sees; null: key 0
  int64_t visible(int64_t row) const { return keys - queries + row % queries + 1; }
  int64_t begin(int64_t row) const {
    return first ? first[row / (heads * queries) * queries + row % queries] : 0;
  }
};

template <class T>
struct Cope {
  CopeShape rows;
  const Compute<T>*content = nullptr, *z = nullptr;  // [count, keys], [count, P]
  T* weights = nullptr;                              // [count, keys]; 0 for keys that are not seen
  Compute<T>* norm = nullptr;  // [count]: the logarithm of the softmax's denominator, for the way back
};

template <class T>
struct CopeBackward {
  CopeShape rows;
  const Compute<T>*content = nullptr, *z = nullptr, *norm = nullptr;
  const T* weights_grad = nullptr;
  T* content_grad = nullptr;     // [count, keys]
  Compute<T>* z_grad = nullptr;  // [count, P], zeros
};

// Rows first .. last-1. P is Cope or CopeBackward of double, float or bfloat16.
template <class P>
void cope_cpu(const P&, int64_t first, int64_t last);

// All rows, on a CUDA stream (a cudaStream_t); float16 too. Launches, and does not wait.
template <class T>
void cope_cuda(const Cope<T>&, void* stream);
template <class T>
void cope_cuda(const CopeBackward<T>&, void* stream);

}  // namespace darope::kernels
