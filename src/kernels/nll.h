#pragma once
#include <cstdint>

// Negative log-likelihood of one target a row.
namespace darope::kernels {

template <class T>
struct Nll {
  int64_t width = 0;
  const T* logits = nullptr;                   // [rows, width]
  const int64_t* targets = nullptr;            // [rows]
  T* nll = nullptr;                            // [rows]
  T *exponentials = nullptr, *sums = nullptr;  // [rows, width], [rows]: the softmax is their quotient
};

template <class T>
struct NllBackward {
  int64_t width = 0;
  const T *exponentials = nullptr, *sums = nullptr;
  const int64_t* targets = nullptr;
  const T* nll_grad = nullptr;  // [rows]
  T* grad = nullptr;            // [rows, width]: of the logits
};

// Rows first .. last-1. P is Nll or NllBackward of double or float.
template <class P>
void nll_cpu(const P&, int64_t first, int64_t last);

}  // namespace darope::kernels
