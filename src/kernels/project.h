#pragma once
#include "kernels/rotate.h"

// The products around DaRoPE's coordinate on the CPU. They are skinny (a few heads), so reading x is most of
// their cost, and a library's matrix product spends longer on rearranging it than on the sums.
namespace darope::kernels {

template <class T>
struct Projection {
  const T* x = nullptr;  // [B, T, D] with contiguous channels; the strides count elements
  int64_t batch = 0, token = 0;
  int64_t rows = 0, tokens = 0, width = 0, heads = 0;  // B T, T, D, Hk
  const Compute<T>* w = nullptr;                       // [Hk, D]
  int64_t bytes() const { return rows * width * int64_t(sizeof(T)); }
};

// logit[token, h] = w_h . x, for tokens first .. last-1 of the B*T tokens.
template <class T>
void project_cpu(const Projection<T>&, Compute<T>* logit, int64_t first, int64_t last);

// Its gradient: x_grad [B, T, D] is written, w_grad [Hk, D] added to.
template <class T>
void project_backward_cpu(const Projection<T>&, const Compute<T>* logit_grad, T* x_grad, Compute<T>* w_grad,
                          int64_t first, int64_t last);

}  // namespace darope::kernels
