#include "ops/products.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/gelu.h"
#include "kernels/product.h"
#include "ops/model_cuda.h"
#include "ops/once.h"

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Kernels =
    at::AutoDispatchBelowADInplaceOrView;  // straight to the kernels: these nodes know their gradients

Tensor rows_of(const Tensor& x) { return x.reshape({-1, x.size(-1)}); }

Tensor like(const Tensor& rows, at::IntArrayRef shape) {
  std::vector<int64_t> sizes = shape.vec();
  sizes.back() = rows.size(-1);
  return rows.view(sizes);
}

// a b, by the library where the operands are many, or not of floats in rows or columns on a CPU.
Tensor times(const Tensor& a, const Tensor& b) {
  const int64_t rows = a.size(0), columns = b.size(1), depth = a.size(1);
  const bool floats = a.is_cpu() && a.scalar_type() == at::kFloat && b.scalar_type() == at::kFloat,
             regular = b.stride(0) == 1 || b.stride(1) == 1;
  if (!floats || !regular || !kernels::is_small_product(rows, columns, depth)) return at::mm(a, b);
  const Tensor c = at::empty({rows, columns}, a.options());
  const kernels::Product<float> p{columns,     depth,       a.const_data_ptr<float>(),
                                  a.stride(0), a.stride(1), b.const_data_ptr<float>(),
                                  b.stride(0), b.stride(1), c.mutable_data_ptr<float>()};
  const int64_t grain = std::max<int64_t>(1, kernels::machine::kProductSumsPerThread /
                                                 (columns * depth));  // rows that outweigh starting a thread
  at::parallel_for(0, rows, grain,
                   [&](int64_t first, int64_t last) { kernels::multiply_cpu(p, first, last); });
  return c;
}

// a b, the gradient of a weight. On a GPU it is added at once to where the leaf collects it, as autograd
// would do next: a kernel less for each weight, which is what small models wait for.
Tensor weight_gradient(const Tensor& weight, const Tensor& a, const Tensor& b) {
  if (!weight.is_cuda() || !weight.is_leaf() || !weight.grad().defined()) return times(a, b);
  weight.grad().addmm_(a, b);
  return {};
}

class Product : public torch::autograd::Function<Product> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight) {
    const Kernels below;
    const Tensor rows = rows_of(x);
    context->save_for_backward({rows, weight});
    return like(times(rows, weight.t()), x.sizes());
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("product");
    const Kernels below;
    const variable_list saved = context->get_saved_variables();
    const Tensor g = rows_of(grads[0]);
    return {like(times(g, saved[1]), grads[0].sizes()), weight_gradient(saved[1], g.t(), saved[0])};
  }
};

// Forward may put into h what backward wants to find there.
struct Gelu {
  static constexpr auto name = "gelu_mlp";
  static bool ours(const Tensor& h) { return h.is_cpu() && h.scalar_type() == at::kFloat; }
  static Tensor forward(Tensor& h) {
    if (!ours(h)) return at::gelu(h);
    const Tensor out = at::empty_like(h);
    at::parallel_for(0, h.numel(), kernels::machine::kElementsPerThread, [&](int64_t first, int64_t last) {
      kernels::gelu_cpu(h.mutable_data_ptr<float>(), out.mutable_data_ptr<float>(), first, last);
    });
    return out;
  }
  static Tensor backward(Tensor& da, const Tensor& h) {
    return ours(h) ? da.mul_(h) : at::gelu_backward(da, h);
  }
};

struct SwiGlu {
  static constexpr auto name = "swiglu_mlp";
  static Tensor forward(const Tensor& h) {
    if (swiglu_fits_on_cuda(h)) return swiglu_on_cuda(h);
    const auto halves = h.chunk(2, -1);
    return at::silu(halves[0]).mul_(halves[1]);
  }
  static Tensor backward(Tensor& da, const Tensor& h) {
    if (swiglu_fits_on_cuda(h)) return swiglu_backward_on_cuda(da, h);
    const auto halves = h.chunk(2, -1);
    const Tensor dh = at::empty_like(h);
    auto to = dh.chunk(2, -1);
    at::mul_out(to[1], da, at::silu(halves[0]));
    at::silu_backward_out(to[0], da.mul_(halves[1]), halves[0]);
    return dh;
  }
};

template <class Activation>
class Mlp : public torch::autograd::Function<Mlp<Activation>> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& up, const Tensor& down) {
    const Kernels below;
    const Tensor rows = rows_of(x);
    Tensor h = times(rows, up.t());
    const Tensor a = Activation::forward(h);
    context->save_for_backward({rows, up, h, a, down});
    return like(times(a, down.t()), x.sizes());
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once(Activation::name);
    const Kernels below;
    const variable_list saved = context->get_saved_variables();
    const Tensor &rows = saved[0], &up = saved[1], &h = saved[2], &a = saved[3], &down = saved[4];
    const Tensor g = rows_of(grads[0]), ddown = weight_gradient(down, g.t(), a);
    Tensor da = times(g, down);
    const Tensor dh = Activation::backward(da, h);
    return {like(times(dh, up), grads[0].sizes()), weight_gradient(up, dh.t(), rows), ddown};
  }
};

}  // namespace

Tensor product(const Tensor& x, const Tensor& weight) { return Product::apply(x, weight); }
Tensor gelu_mlp(const Tensor& x, const Tensor& up, const Tensor& down) {
  return Mlp<Gelu>::apply(x, up, down);
}
Tensor swiglu_mlp(const Tensor& x, const Tensor& gate_up, const Tensor& down) {
  return Mlp<SwiGlu>::apply(x, gate_up, down);
}
Tensor swiglu(const Tensor& h) { return SwiGlu::forward(h); }
Tensor swiglu_backward(Tensor& grad, const Tensor& h) { return SwiGlu::backward(grad, h); }

}  // namespace darope
