#include "kernels/project.h"
#include "kernels/simd.h"

// The CPU's skinny products, a few tokens by a few heads in registers. Compiled once per instruction set,
// each into a namespace of its own (DAROPE_ISA); cpu.cpp picks at run time.
namespace darope::kernels {
namespace {

template <class T>
inline const T* row(const Projection<T>& p, int64_t token) {
  return p.x + token / p.tokens * p.batch + token % p.tokens * p.token;
}

// run(d, n) in whole vectors and then what is left; n is a constant for whole ones.
template <class F>
inline void in_vectors(int64_t width, F&& run) {
  int64_t d = 0;
  for (; d + kLanes <= width; d += kLanes) run(d, Number<kLanes>());
  if (d < width) run(d, width - d);
}

template <class T>
void forward(const Projection<T>& p, Compute<T>* logit, int64_t first, int64_t last) {
  using C = Compute<T>;
  in_blocks<4>(first, last, [&]<int64_t tokens>(int64_t token, Number<tokens>) {
    const T* x[tokens];
    for (int64_t t = 0; t < tokens; ++t) x[t] = row(p, token + t);
    in_blocks<4>(0, p.heads, [&]<int64_t heads>(int64_t head, Number<heads>) {
      const C* const w = p.w + head * p.width;
      Vector<C> sums[tokens * heads] = {};
      in_vectors(p.width, [&](int64_t d, auto n) {
        Vector<C> ws[heads];
        for (int64_t h = 0; h < heads; ++h) ws[h] = read(w + h * p.width + d, n);
        for (int64_t t = 0; t < tokens; ++t) {
          const Vector<C> xs = load(x[t] + d, n);
          for (int64_t h = 0; h < heads; ++h) sums[t * heads + h] += xs * ws[h];
        }
      });
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t h = 0; h < heads; ++h)
          logit[(token + t) * p.heads + head + h] = sum<C>(sums[t * heads + h]);
    });
  });
}

template <class T>
void backward(const Projection<T>& p, const Compute<T>* logit_grad, T* x_grad, Compute<T>* w_grad,
              int64_t first, int64_t last) {
  using C = Compute<T>;
  const bool past = p.bytes() >= kPastCaches;
  in_blocks<8>(first, last, [&]<int64_t tokens>(int64_t token, Number<tokens>) {
    const T* x[tokens];
    for (int64_t t = 0; t < tokens; ++t) x[t] = row(p, token + t);
    const C* const grad = logit_grad + token * p.heads;
    in_vectors(p.width, [&](int64_t d, auto n) {
      Vector<C> xs[tokens], sums[tokens] = {};
      for (int64_t t = 0; t < tokens; ++t) xs[t] = load(x[t] + d, n);
      for (int64_t h = 0; h < p.heads; ++h) {
        const Vector<C> w = read(p.w + h * p.width + d, n);
        Vector<C> dw = read(w_grad + h * p.width + d, n);
        for (int64_t t = 0; t < tokens; ++t) {
          sums[t] += grad[t * p.heads + h] * w;
          dw += grad[t * p.heads + h] * xs[t];
        }
        write(w_grad + h * p.width + d, dw, n);
      }
      for (int64_t t = 0; t < tokens; ++t) {
        T* const to = x_grad + (token + t) * p.width + d;
        past ? store_past(to, sums[t], n) : store(to, sums[t], n);
      }
    });
  });
}

}  // namespace

namespace DAROPE_ISA {

#define DAROPE_PROJECT(T)                                                                                    \
  void project(const Projection<T>& p, Compute<T>* logit, int64_t first, int64_t last) {                     \
    forward(p, logit, first, last);                                                                          \
  }                                                                                                          \
  void project_backward(const Projection<T>& p, const Compute<T>* logit_grad, T* x_grad, Compute<T>* w_grad, \
                        int64_t first, int64_t last) {                                                       \
    backward(p, logit_grad, x_grad, w_grad, first, last);                                                    \
    finish_stores();                                                                                         \
  }
DAROPE_PROJECT(double)
DAROPE_PROJECT(float)
DAROPE_PROJECT(bfloat16)

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
