#include <torch/library.h>

#include "kernels/project.h"
#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/operator.h"
#include "ops/rotate_learned.h"

// rotate_learned on the CPU: the products with w run beside the rotation, block by block, while x and the
// logits are warm.
namespace darope::ops {
namespace {

template <class T>
kernels::Projection<T> projection(const Tensor& x, const Tensor& w) {
  return {static_cast<const T*>(x.const_data_ptr()),
          x.stride(0),
          x.stride(1),
          x.size(0) * x.size(1),
          x.size(1),
          x.size(2),
          w.size(0),
          data<kernels::Compute<T>>(w)};
}
Tensor rows(const Tensor& x) { return x.stride(2) == 1 ? x : x.contiguous(); }

template <class F>
void in_blocks(const kernels::Bands& b, F&& run) {
  in_parts(b, [&](int64_t part, int64_t first, int64_t last) {
    constexpr int64_t kBlock = kernels::machine::kRowsAtOnce;
    for (; first < last; first += kBlock) run(part, first, std::min(last, first + kBlock));
  });
}

RotateLearned::Result learned_cpu(const RotateLearned& a) {
  if (a.q.scalar_type() == at::kHalf) return learned_plain(a);
  check(a);
  const Tensor x = rows(a.x), w = a.w.to(compute_type(a.q.scalar_type())).contiguous();
  const Tensor logit = a.shift ? fused_logit(a) : at::empty({x.size(0), x.size(1), w.size(0)}, w.options());
  const auto run = [&]<class T>(const kernels::Forward<T>& p) {
    const auto product = projection<T>(x, w);
    in_blocks(p.bands, [&](int64_t, int64_t first, int64_t last) {
      if (!a.shift) kernels::project_cpu(product, data<kernels::Compute<T>>(logit), first, last);
      kernels::rotate_cpu(p, first, last);
    });
  };
  return rotate_learned_with<double, float, kernels::bfloat16>(run, a, logit);
}

// Sums over tokens, one row for each part of them: the gradients of w, and of alpha behind it.
template <class C>
class Sums {
 public:
  Sums(int64_t parts, int64_t heads, int64_t width)
      : parts_(parts), heads_(heads), weights_(heads * width), sums_(size_t(parts * (weights_ + heads))) {}
  C* w(int64_t part) { return sums_.data() + part * (weights_ + heads_); }
  C* alpha(int64_t part) { return w(part) + weights_; }
  void add_up(C* w_grad, C* alpha_grad) {
    for (int64_t part = 0; part < parts_; ++part) {
      for (int64_t i = 0; i < weights_; ++i) w_grad[i] += w(part)[i];
      for (int64_t h = 0; h < heads_; ++h) alpha_grad[h] += alpha(part)[h];
    }
  }

 private:
  int64_t parts_, heads_, weights_;
  std::vector<C> sums_;
};

RotateLearnedBackward::Result backward_cpu(const RotateLearnedBackward& a) {
  if (a.q_grad.scalar_type() == at::kHalf) return learned_backward_plain(a);
  check(a);
  const auto rotate_back = [&](auto&& run) {
    return rotate_learned_backward_with<double, float, kernels::bfloat16>(run, a);
  };
  if (a.share.dim() == 4) {  // a coordinate per band: its gradient is summed before the products
    const auto [dq, dk, dlogit] = rotate_back(run_cpu);
    return from_logit_grad(a, dq, dk, dlogit, alpha_grad(a, dlogit));
  }
  const Tensor x = rows(a.x), w = a.w.to(compute_type(a.x.scalar_type())).contiguous(),
               prior = a.prior.contiguous();
  const Tensor dx = at::empty(x.sizes(), x.options());
  const Tensor dw = at::zeros(w.sizes(), w.options()), dalpha = at::zeros({w.size(0)}, w.options());
  const auto [dq, dk, dlogit] = rotate_back([&]<class T>(const kernels::Backward<T>& p) {
    using C = kernels::Compute<T>;
    const auto product = projection<T>(x, w);
    Sums<C> sums(parts(p.bands), product.heads, product.width);
    in_blocks(p.bands, [&](int64_t part, int64_t first, int64_t last) {
      kernels::rotate_cpu(p, first, last);
      kernels::project_backward_cpu(product, p.logit_grad, data<T>(dx), sums.w(part), first, last);
      for (int64_t t = first; t < last; ++t) {
        const C beta = data<C>(prior)[t / product.tokens * p.bands.position_stride + t % product.tokens];
        for (int64_t h = 0; h < product.heads; ++h)
          sums.alpha(part)[h] += beta * p.logit_grad[t * product.heads + h];
      }
    });
    sums.add_up(data<C>(dw), data<C>(dalpha));
  });
  return {dq,
          dk,
          dx,
          dw.to(a.w.scalar_type()),
          a.alpha ? dalpha.to(a.alpha->scalar_type()) : at::empty({0}, a.w.options()),
          dlogit};
}

}  // namespace

TORCH_LIBRARY_IMPL(darope, CPU, m) {
  m.impl("rotate_learned", Operator<RotateLearned>::kernel<learned_cpu>);
  m.impl("rotate_learned_backward", Operator<RotateLearnedBackward>::kernel<backward_cpu>);
}

}  // namespace darope::ops
