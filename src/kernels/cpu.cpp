#include <algorithm>
#include <cmath>

#include "kernels/attention.h"
#include "kernels/cope.h"
#include "kernels/gelu.h"
#include "kernels/nll.h"
#include "kernels/product.h"
#include "kernels/project.h"
#include "kernels/rotate.h"

// One build serves every CPU: *_simd.cpp are compiled for each of these instruction sets, and the machine's
// best is taken.
namespace darope::kernels {

#define DAROPE_DECLARE(isa, T)                                                                       \
  namespace isa {                                                                                    \
  void rotate(const Forward<T>&, int64_t, int64_t);                                                  \
  void rotate(const Backward<T>&, int64_t, int64_t);                                                 \
  void cope(const Cope<T>&, int64_t, int64_t);                                                       \
  void cope(const CopeBackward<T>&, int64_t, int64_t);                                               \
  void project(const Projection<T>&, Compute<T>*, int64_t, int64_t);                                 \
  void project_backward(const Projection<T>&, const Compute<T>*, T*, Compute<T>*, int64_t, int64_t); \
  }
#define DAROPE_DECLARE_EXACT(isa, T)                          \
  namespace isa {                                             \
  void attend(const Attention<T>&, int64_t, int64_t);         \
  void attend(const AttentionBackward<T>&, int64_t, int64_t); \
  void nll(const Nll<T>&, int64_t, int64_t);                  \
  void nll(const NllBackward<T>&, int64_t, int64_t);          \
  }
#define DAROPE_DECLARE_FLOAT(isa, T)                  \
  namespace isa {                                     \
  void multiply(const Product<T>&, int64_t, int64_t); \
  void gelu(T*, T*, int64_t, int64_t);                \
  }
#ifdef __x86_64__
// A level that the build leaves out is the one below it.
#ifdef DAROPE_WITHOUT_x86_64_v3
namespace baseline {}
namespace x86_64_v3 = baseline;
#define DAROPE_V3(declare, T)
#else
namespace x86_64_v3 {}
#define DAROPE_V3(declare, T) declare(x86_64_v3, T)
#endif
#ifdef DAROPE_WITHOUT_x86_64_v4
namespace x86_64_v4 = x86_64_v3;
#define DAROPE_V4(declare, T)
#else
#define DAROPE_V4(declare, T) declare(x86_64_v4, T)
#endif
#define DAROPE_EACH(declare, T) declare(baseline, T) DAROPE_V3(declare, T) DAROPE_V4(declare, T)
#define DAROPE_BEST(function) {x86_64_v4::function, x86_64_v3::function, baseline::function}
#else
#define DAROPE_EACH(declare, T) declare(baseline, T)
#define DAROPE_BEST(function) {baseline::function}
#endif
DAROPE_EACH(DAROPE_DECLARE, double)
DAROPE_EACH(DAROPE_DECLARE, float)
DAROPE_EACH(DAROPE_DECLARE, bfloat16)
DAROPE_EACH(DAROPE_DECLARE_EXACT, double)
DAROPE_EACH(DAROPE_DECLARE_EXACT, float)
DAROPE_EACH(DAROPE_DECLARE_FLOAT, float)

// A function compiled for several instruction sets, the most demanding first.
template <class... Arguments>
struct Best {
  void (*run)(Arguments...);
#ifdef __x86_64__
  Best(void (*v4)(Arguments...), void (*v3)(Arguments...), void (*baseline)(Arguments...))
      : run(__builtin_cpu_supports("x86-64-v4")   ? v4
            : __builtin_cpu_supports("x86-64-v3") ? v3
                                                  : baseline) {}
#else
  Best(void (*baseline)(Arguments...)) : run(baseline) {}
#endif
};

template <class P>
void rotate_cpu(const P& p, int64_t first, int64_t last) {
  static const Best<const P&, int64_t, int64_t> best DAROPE_BEST(rotate);
  best.run(p, first, last);
}

template <class P>
void cope_cpu(const P& p, int64_t first, int64_t last) {
  static const Best<const P&, int64_t, int64_t> best DAROPE_BEST(cope);
  best.run(p, first, last);
}

template <class T>
void multiply_cpu(const Product<T>& p, int64_t first, int64_t last) {
  static const Best<const Product<T>&, int64_t, int64_t> best DAROPE_BEST(multiply);
  best.run(p, first, last);
}

template <class P>
void attend_cpu(const P& p, int64_t first, int64_t last) {
  static const Best<const P&, int64_t, int64_t> best DAROPE_BEST(attend);
  best.run(p, first, last);
}

template <class P>
void nll_cpu(const P& p, int64_t first, int64_t last) {
  static const Best<const P&, int64_t, int64_t> best DAROPE_BEST(nll);
  best.run(p, first, last);
}

void gelu_cpu(float* x, float* out, int64_t first, int64_t last) {
  static const Best<float*, float*, int64_t, int64_t> best DAROPE_BEST(gelu);
  best.run(x, out, first, last);
}

template <class T>
void project_cpu(const Projection<T>& p, Compute<T>* logit, int64_t first, int64_t last) {
  static const Best<const Projection<T>&, Compute<T>*, int64_t, int64_t> best DAROPE_BEST(project);
  best.run(p, logit, first, last);
}

template <class T>
void project_backward_cpu(const Projection<T>& p, const Compute<T>* logit_grad, T* x_grad, Compute<T>* w_grad,
                          int64_t first, int64_t last) {
  static const Best<const Projection<T>&, const Compute<T>*, T*, Compute<T>*, int64_t, int64_t> best
      DAROPE_BEST(project_backward);
  best.run(p, logit_grad, x_grad, w_grad, first, last);
}

#define DAROPE_INSTANTIATE(T)                                                                           \
  template void rotate_cpu(const Forward<T>&, int64_t, int64_t);                                        \
  template void rotate_cpu(const Backward<T>&, int64_t, int64_t);                                       \
  template void cope_cpu(const Cope<T>&, int64_t, int64_t);                                             \
  template void cope_cpu(const CopeBackward<T>&, int64_t, int64_t);                                     \
  template void project_cpu(const Projection<T>&, Compute<T>*, int64_t, int64_t);                       \
  template void project_backward_cpu(const Projection<T>&, const Compute<T>*, T*, Compute<T>*, int64_t, \
                                     int64_t);
DAROPE_INSTANTIATE(double)
DAROPE_INSTANTIATE(float)
DAROPE_INSTANTIATE(bfloat16)
template void multiply_cpu(const Product<float>&, int64_t, int64_t);

#define DAROPE_INSTANTIATE_EXACT(T)                                        \
  template void attend_cpu(const Attention<T>&, int64_t, int64_t);         \
  template void attend_cpu(const AttentionBackward<T>&, int64_t, int64_t); \
  template void nll_cpu(const Nll<T>&, int64_t, int64_t);                  \
  template void nll_cpu(const NllBackward<T>&, int64_t, int64_t);
DAROPE_INSTANTIATE_EXACT(double)
DAROPE_INSTANTIATE_EXACT(float)

double positional_prior(double position, double length) {
  const double m = std::clamp(position + 0.5, 1e-6 * length, (1 - 1e-6) * length);
  return std::log(m / (length - m));
}

}  // namespace darope::kernels
