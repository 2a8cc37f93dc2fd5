#include <limits>

#include "kernels/nll.h"
#include "kernels/simd.h"

// Compiled once per instruction set, each into a namespace of its own (DAROPE_ISA); cpu.cpp picks at run
// time.
namespace darope::kernels {
namespace {

template <class T>
void forward(const Nll<T>& p, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const T* const logits = p.logits + row * p.width;
    T* const exponentials = p.exponentials + row * p.width;
    T top = -std::numeric_limits<T>::infinity(), total = 0;
#pragma omp simd reduction(max : top)
    for (int64_t j = 0; j < p.width; ++j) top = logits[j] > top ? logits[j] : top;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < p.width; ++j) total += exponentials[j] = exponential(logits[j] - top);
    p.sums[row] = total;
    p.nll[row] = std::log(total) + (top - logits[p.targets[row]]);
  }
}

template <class T>
void backward(const NllBackward<T>& p, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row) {
    const T* const exponentials = p.exponentials + row * p.width;
    T* const grad = p.grad + row * p.width;
    const T part = p.nll_grad[row] / p.sums[row];
#pragma omp simd
    for (int64_t j = 0; j < p.width; ++j) grad[j] = exponentials[j] * part;
    grad[p.targets[row]] -= p.nll_grad[row];
  }
}

}  // namespace

namespace DAROPE_ISA {

#define DAROPE_NLL(T)                                                                 \
  void nll(const Nll<T>& p, int64_t first, int64_t last) { forward(p, first, last); } \
  void nll(const NllBackward<T>& p, int64_t first, int64_t last) { backward(p, first, last); }
DAROPE_NLL(double)
DAROPE_NLL(float)

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
