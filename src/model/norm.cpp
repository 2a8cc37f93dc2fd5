#include "model/norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rms_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kRowsAtOnce = 64, kColumnsAtOnce = 64;

template <class T> void normalise(const T* x, const T* w, T* y, T* scale, int64_t rows, int64_t width, double eps) {
  at::parallel_for(0, rows, kRowsAtOnce, [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T* from = x + row * width;
      T* to = y + row * width;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < width; ++i) sum += from[i] * from[i];
      const T s = scale[row] = T(1 / std::sqrt(double(sum) / double(width) + eps));
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] = from[i] * s * w[i];
    }
  });
}

// With s = scale: dx = s (g w) - x s^3 / D sum(g w x).
template <class T> void backward_x(const T* g, const T* x, const T* w, const T* scale, T* dx, int64_t rows, int64_t width) {
  at::parallel_for(0, rows, kRowsAtOnce, [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T *in = x + row * width, *up = g + row * width;
      T* out = dx + row * width;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t i = 0; i < width; ++i) sum += up[i] * w[i] * in[i];
      const T s = scale[row], pull = sum * s * s * s / T(width);
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) out[i] = s * up[i] * w[i] - pull * in[i];
    }
  });
}

// Columns are shared out and rows added in order, so that the sum does not depend on the number of threads.
template <class T> void backward_w(const T* g, const T* x, const T* scale, T* dw, int64_t rows, int64_t width) {
  at::parallel_for(0, width, kColumnsAtOnce, [=](int64_t first, int64_t last) {
    std::fill(dw + first, dw + last, T(0));
    for (int64_t row = 0; row < rows; ++row) {
      const T s = scale[row];
#pragma omp simd
      for (int64_t i = first; i < last; ++i) dw[i] += g[row * width + i] * x[row * width + i] * s;
    }
  });
}

template <class Call> void with_type(const Tensor& x, const Call& call) {
  if (x.scalar_type() == at::kDouble) call(double{});
  else call(float{});
}

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& w, double eps) {
    const int64_t width = x.size(-1), rows = x.numel() / width;
    const Tensor y = at::empty_like(x), scale = at::empty({rows}, x.options());
    with_type(x, [&](auto t) {
      using T = decltype(t);
      normalise(x.const_data_ptr<T>(), w.const_data_ptr<T>(), y.mutable_data_ptr<T>(), scale.mutable_data_ptr<T>(), rows, width, eps);
    });
    context->save_for_backward({x, w, scale});
    return y;
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &w = saved[1], &scale = saved[2];
    const int64_t width = x.size(-1), rows = x.numel() / width;
    const Tensor g = grads[0].contiguous(), dx = at::empty_like(x), dw = at::empty_like(w);
    with_type(x, [&](auto t) {
      using T = decltype(t);
      const T *up = g.const_data_ptr<T>(), *in = x.const_data_ptr<T>(), *s = scale.const_data_ptr<T>();
      backward_x(up, in, w.const_data_ptr<T>(), s, dx.mutable_data_ptr<T>(), rows, width);
      backward_w(up, in, s, dw.mutable_data_ptr<T>(), rows, width);
    });
    return {dx, dw, Tensor()};
  }
};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  const bool plain = x.is_cpu() && x.is_contiguous() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  return plain ? RmsNorm::apply(x, weight, eps) : at::rms_norm(x, {x.size(-1)}, weight, eps);
}

}  // namespace darope
