#include "ops/norm.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>

#include "kernels/machine.h"
#include "ops/model_cuda.h"
#include "ops/once.h"

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

using kernels::machine::kColumnsAtOnce, kernels::machine::kRowsAtOnce;

// One pass over the rows: sum = x + delta where delta is given, then its norm.
template <class T>
void normalise(const T* x, const T* delta, const T* w, T* sum, T* y, T* scale, int64_t rows, int64_t width,
               double eps) {
  at::parallel_for(0, rows, kRowsAtOnce, [=](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const T* from = x + row * width;
      if (delta) {
        T* added = sum + row * width;
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) added[i] = from[i] + delta[row * width + i];
        from = added;
      }
      T* to = y + row * width;
      T squares = 0;
#pragma omp simd reduction(+ : squares)
      for (int64_t i = 0; i < width; ++i) squares += from[i] * from[i];
      const T s = scale[row] = T(1 / std::sqrt(double(squares) / double(width) + eps));
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] = from[i] * s * w[i];
    }
  });
}

// With s = scale: dx = s (g w) - x s^3 / D sum(g w x), beside what the sum itself receives.
template <class T>
void backward_x(const T* g, const T* kept, const T* x, const T* w, const T* scale, T* dx, int64_t rows,
                int64_t width) {
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
      if (!kept) continue;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) out[i] += kept[row * width + i];
    }
  });
}

// Columns are shared out and rows added in order, so that the sum does not depend on the number of threads;
// some rows first and then those sums, so that its rounding hardly grows with their number.
template <class T>
void backward_w(const T* g, const T* x, const T* scale, T* dw, int64_t rows, int64_t width) {
  at::parallel_for(0, width, kColumnsAtOnce, [=](int64_t begin, int64_t end) {
    std::fill(dw + begin, dw + end, T(0));
    for (int64_t first = begin; first < end; first += kColumnsAtOnce) {
      const int64_t columns = std::min(kColumnsAtOnce, end - first);
      for (int64_t row = 0; row < rows;) {
        T some[kColumnsAtOnce] = {};
        for (const int64_t last = std::min(row + kRowsAtOnce, rows); row < last; ++row) {
          const T *up = g + row * width + first, *in = x + row * width + first, s = scale[row];
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) some[i] += up[i] * in[i] * s;
        }
        for (int64_t i = 0; i < columns; ++i) dw[first + i] += some[i];
      }
    }
  });
}

template <class Call>
void with_type(const Tensor& x, const Call& call) {
  if (x.scalar_type() == at::kDouble)
    call(double{});
  else
    call(float{});
}

NormOutputs forward_cpu(const Tensor& x, const Tensor& delta, const Tensor& w, double eps) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  NormOutputs out{delta.defined() ? at::empty_like(x) : x, at::empty_like(x), at::empty({rows}, x.options())};
  with_type(x, [&](auto t) {
    using T = decltype(t);
    normalise(x.const_data_ptr<T>(), delta.defined() ? delta.const_data_ptr<T>() : nullptr,
              w.const_data_ptr<T>(), delta.defined() ? out.sum.mutable_data_ptr<T>() : nullptr,
              out.norm.mutable_data_ptr<T>(), out.scale.mutable_data_ptr<T>(), rows, width, eps);
  });
  return out;
}

NormGrads backward_cpu(const Tensor& kept, const Tensor& g, const Tensor& x, const Tensor& w,
                       const Tensor& scale) {
  const int64_t width = x.size(-1), rows = x.numel() / width;
  const Tensor dx = at::empty_like(x), dw = at::empty_like(w);
  with_type(x, [&](auto t) {
    using T = decltype(t);
    const T *up = g.const_data_ptr<T>(), *in = x.const_data_ptr<T>(), *s = scale.const_data_ptr<T>();
    backward_x(up, kept.defined() ? kept.const_data_ptr<T>() : nullptr, in, w.const_data_ptr<T>(), s,
               dx.mutable_data_ptr<T>(), rows, width);
    backward_w(up, in, s, dw.mutable_data_ptr<T>(), rows, width);
  });
  return {dx, dw};
}

// Whole and on a boundary that the GPU's kernel can fetch from.
bool is_aligned(const Tensor& x) {
  return x.is_contiguous() && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}
Tensor aligned(const Tensor& x) { return is_aligned(x) ? x : x.clone(at::MemoryFormat::Contiguous); }

// Outputs: the norm and, where there is a delta, the sum.
class AddNorm : public torch::autograd::Function<AddNorm> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const std::optional<Tensor>& added,
                               const Tensor& w, double eps) {
    const Tensor delta = added.value_or(Tensor());
    const NormOutputs out = x.is_cuda() ? norm_on_cuda(x, delta, w, eps) : forward_cpu(x, delta, w, eps);
    context->save_for_backward({out.sum, w, out.scale});
    context->saved_data["added"] = delta.defined();
    context->set_materialize_grads(false);  // a sum that nobody uses costs nothing on the way back
    return delta.defined() ? variable_list{out.norm, out.sum} : variable_list{out.norm};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("rms_norm");
    const variable_list saved = context->get_saved_variables();
    const bool added = context->saved_data["added"].toBool();
    const Tensor g = grads[0].defined() ? aligned(grads[0]) : at::zeros_like(saved[0]),
                 kept = added && grads[1].defined() ? aligned(grads[1]) : Tensor();
    const NormGrads out = g.is_cuda() ? norm_backward_on_cuda(kept, g, saved[0], saved[1], saved[2])
                                      : backward_cpu(kept, g, saved[0], saved[1], saved[2]);
    return {out.x, added ? out.x : Tensor(), out.weight, Tensor()};
  }
};

bool fits(const Tensor& x, const Tensor& other) {
  const bool number =
      x.scalar_type() == at::kFloat || x.scalar_type() == (x.is_cuda() ? at::kBFloat16 : at::kDouble);
  const bool alike = other.scalar_type() == x.scalar_type() && other.device() == x.device();
  return number && alike && is_aligned(x) && is_aligned(other) && (x.is_cpu() || norm_fits_on_cuda(x));
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return fits(x, weight) ? AddNorm::apply(x, std::optional<Tensor>(), weight, eps)[0]
                         : at::rms_norm(x, {x.size(-1)}, weight, eps);
}

Added add_rms_norm(const Tensor& x, const Tensor& delta, const Tensor& weight, double eps) {
  if (fits(x, weight) && fits(x, delta)) {
    const variable_list out = AddNorm::apply(x, std::optional<Tensor>(delta), weight, eps);
    return {out[1], out[0]};
  }
  const Tensor sum = x + delta;
  return {sum, at::rms_norm(sum, {sum.size(-1)}, weight, eps)};
}

}  // namespace darope
