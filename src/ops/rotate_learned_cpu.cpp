#include <torch/library.h>

#include "kernels/project.h"
#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/rotate_learned.h"

// rotate_learned on the CPU: the products with w run beside the rotation, block by block, while x and the
// logits are warm.
namespace darope::ops {
namespace {

using Maybe = std::optional<Tensor>;

constexpr int64_t kBlock = 64;  // tokens whose logits stay in the nearest cache between two kernels

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
    for (; first < last; first += kBlock) run(part, first, std::min(last, first + kBlock));
  });
}

LearnedOutputs learned_cpu(const Tensor& q, const Tensor& k, const Tensor& x_in, const Tensor& w_in,
                           const Maybe& alpha, const Maybe& shift, const Tensor& positions,
                           at::ArrayRef<double> theta, int64_t fast, double length, bool half) {
  if (q.scalar_type() == at::kHalf)
    return learned_plain(q, k, x_in, w_in, alpha, shift, positions, theta, fast, length, half);
  check_rotate(q, k, positions, theta);
  check_learned(q, k, x_in, w_in, alpha, shift, fast, theta);
  const at::ScalarType type = compute_type(q.scalar_type());
  const Tensor x = rows(x_in), w = w_in.to(type).contiguous();
  const Tensor logit =
      shift ? fused_logit(x, w, shift) : at::empty({x.size(0), x.size(1), w.size(0)}, w.options());
  const auto run = [&]<class T>(const kernels::Forward<T>& p) {
    const auto product = projection<T>(x, w);
    in_blocks(p.bands, [&](int64_t, int64_t first, int64_t last) {
      if (!shift) kernels::project_cpu(product, data<kernels::Compute<T>>(logit), first, last);
      kernels::rotate_cpu(p, first, last);
    });
  };
  return rotate_learned_with<double, float, kernels::bfloat16>(
      run, q, k, logit, alpha ? alpha->to(type).contiguous() : Tensor(), positions, theta, fast, length,
      half);
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

LearnedGrads backward_cpu(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                          const Tensor& x_in, const Tensor& w_in, const Maybe& alpha, const Tensor& share,
                          const Tensor& prior_in, const Tensor& positions, at::ArrayRef<double> theta,
                          int64_t fast, double length, bool half) {
  if (q_grad.scalar_type() == at::kHalf)
    return learned_backward_plain(q_grad, k_grad, q, k, x_in, w_in, alpha, share, prior_in, positions, theta,
                                  fast, length, half);
  check_learned_backward(q_grad, k_grad, q, k, x_in, w_in, alpha, share, prior_in, positions, theta, fast);
  const auto rotate_back = [&](auto&& run) {
    return rotate_learned_backward_with<double, float, kernels::bfloat16>(
        run, q_grad, k_grad, q, k, share, positions, theta, fast, length, half);
  };
  if (share.dim() == 4) {  // a coordinate per band: its gradient is summed before the products
    const auto [dq, dk, dlogit] = rotate_back(run_cpu);
    return from_logit_grad(dq, dk, dlogit, alpha_grad(dlogit, w_in, alpha, prior_in), x_in, w_in);
  }
  const Tensor x = rows(x_in), w = w_in.to(compute_type(x_in.scalar_type())).contiguous(),
               prior = prior_in.contiguous();
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
          dw.to(w_in.scalar_type()),
          alpha ? dalpha.to(alpha->scalar_type()) : at::empty({0}, w_in.options()),
          dlogit};
}

}  // namespace

TORCH_LIBRARY_IMPL(darope, CPU, m) {
  m.impl("rotate_learned", learned_cpu);
  m.impl("rotate_learned_backward", backward_cpu);
}

}  // namespace darope::ops
