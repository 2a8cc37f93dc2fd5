#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "kernels/polar.h"
#include "kernels/sum.h"
#include "ops/checks.h"
#include "ops/cope.h"
#include "ops/launch.h"
#include "ops/polar.h"
#include "ops/rotate_learned.h"

// The CUDA kernels of the operators; a build without nvcc leaves this file out, and CUDA tensors take the
// plain versions.
namespace darope::ops {
namespace {

using Maybe = std::optional<Tensor>;

constexpr auto run_cuda = [](const auto& p) {
  kernels::rotate_cuda(p, c10::cuda::getCurrentCUDAStream().stream());
};

std::tuple<Tensor, Tensor> rotate_cuda(const Tensor& q, const Tensor& k, const Tensor& positions,
                                       at::ArrayRef<double> theta, double scale, bool half) {
  check_rotate(q, k, positions, theta);
  const c10::cuda::CUDAGuard guard(q.device());
  return rotate_with<double, float, kernels::bfloat16, kernels::float16>(run_cuda, q, k, positions, theta,
                                                                         scale, half);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> learned_cuda(const Tensor& q, const Tensor& k, const Tensor& x,
                                                        const Tensor& w, const Maybe& alpha,
                                                        const Maybe& shift, const Tensor& positions,
                                                        at::ArrayRef<double> theta, int64_t fast,
                                                        double length, bool half) {
  check_rotate(q, k, positions, theta);
  check_learned(q, k, x, w, alpha, shift, fast, theta);
  const c10::cuda::CUDAGuard guard(q.device());
  const Tensor logit = fused_logit(x, w, shift);
  return rotate_learned_with<double, float, kernels::bfloat16, kernels::float16>(
      run_cuda, q, k, logit, alpha ? alpha->to(logit.scalar_type()).contiguous() : Tensor(), positions, theta,
      fast, length, half);
}

// In one pass and a short one, where the library multiplies first and adds up with few threads.
Tensor alpha_grad_cuda(const Tensor& dlogit, const Tensor& w, const Maybe& alpha, const Tensor& prior_in) {
  if (!alpha || dlogit.scalar_type() != at::kFloat || alpha->scalar_type() == at::kDouble ||
      dlogit.numel() == 0)
    return alpha_grad(dlogit, w, alpha, prior_in);
  const Tensor prior = prior_in.contiguous(), out = at::empty(alpha->sizes(), alpha->options());
  const int64_t rows = dlogit.size(0) * dlogit.size(1), width = dlogit.numel() / rows;
  const Tensor parts = at::empty({kernels::row_sum_parts(rows), width}, dlogit.options());
  with_type<float, kernels::bfloat16, kernels::float16>(alpha->scalar_type(), [&](auto type) {
    using T = decltype(type);
    kernels::row_sum_cuda(kernels::RowSum<T>{rows, width, data<float>(dlogit), data<float>(prior),
                                             prior.numel(), data<float>(parts), data<T>(out)},
                          c10::cuda::getCurrentCUDAStream().stream());
  });
  return out;
}

LearnedGrads backward_cuda(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                           const Tensor& x, const Tensor& w, const Maybe& alpha, const Tensor& share,
                           const Tensor& prior, const Tensor& positions, at::ArrayRef<double> theta,
                           int64_t fast, double length, bool half) {
  check_learned_backward(q_grad, k_grad, q, k, x, w, alpha, share, prior, positions, theta, fast);
  const c10::cuda::CUDAGuard guard(q_grad.device());
  const auto [dq, dk, dlogit] =
      rotate_learned_backward_with<double, float, kernels::bfloat16, kernels::float16>(
          run_cuda, q_grad, k_grad, q, k, share, positions, theta, fast, length, half);
  return from_logit_grad(dq, dk, dlogit, alpha_grad_cuda(dlogit, w, alpha, prior), x, w);
}

bool polar_fits(const Tensor& x) {
  return x.scalar_type() != at::kDouble && x.numel() > 0 && kernels::polar_fits_cuda(x.size(2), x.size(3));
}

// A token's heads side by side, on a boundary that 16 bytes can be fetched from.
Tensor polar_rows(const Tensor& x) {
  const int64_t unit = 16 / x.element_size();
  const bool fine = x.stride(3) == 1 && x.stride(2) == x.size(3) && x.stride(1) % unit == 0 &&
                    x.stride(0) % unit == 0 && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
  return fine ? x : x.clone(at::MemoryFormat::Contiguous);
}

kernels::PolarShape polar_shape(const Tensor& x, const Tensor& positions, double base, const Tensor& delta) {
  return {x.size(0),
          x.size(1),
          x.size(2),
          x.size(3),
          base,
          positions.const_data_ptr<double>(),
          positions.dim() == 2 ? x.size(1) : 0,
          data<float>(delta)};
}

Tensor polar_cuda(const Tensor& x_in, const Tensor& positions_in, double base, const Maybe& delta_in) {
  check_polar(x_in, positions_in, base, delta_in);
  if (!polar_fits(x_in)) return polar_plain(x_in, positions_in, base, delta_in);
  const c10::cuda::CUDAGuard guard(x_in.device());
  const Tensor x = polar_rows(x_in), positions = positions_in.contiguous(),
               delta = delta_in ? delta_in->to(at::kFloat).contiguous() : Tensor();
  const Tensor out = at::empty({x.size(0), x.size(1), x.size(2), 2 * x.size(3)}, x.options());
  with_type<float, kernels::bfloat16, kernels::float16>(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    kernels::polar_cuda(
        kernels::Polar<T>{polar_shape(x, positions, base, delta), heads<const T>(x), data<T>(out)},
        c10::cuda::getCurrentCUDAStream().stream());
  });
  return out;
}

PolarGrads polar_backward_cuda(const Tensor& grad_in, const Tensor& x_in, const Tensor& positions_in,
                               double base, const Maybe& delta_in) {
  check_polar_backward(grad_in, x_in, positions_in, base, delta_in);
  if (!polar_fits(x_in)) return polar_backward_plain(grad_in, x_in, positions_in, base, delta_in);
  const c10::cuda::CUDAGuard guard(x_in.device());
  const Tensor grad = polar_rows(grad_in.contiguous()), x = polar_rows(x_in),
               positions = positions_in.contiguous();
  const Tensor delta = delta_in ? delta_in->to(at::kFloat).contiguous() : Tensor(),
               dx = at::empty(x.sizes(), x.options());
  const kernels::PolarShape shape = polar_shape(x, positions, base, delta);
  const int64_t width = shape.heads * shape.width, rows = kernels::polar_parts(shape);
  const Tensor parts = delta_in ? at::empty({rows, width}, delta.options()) : Tensor(),
               ddelta = delta_in ? at::empty_like(delta) : at::empty({0}, x.options());
  void* const stream = c10::cuda::getCurrentCUDAStream().stream();
  with_type<float, kernels::bfloat16, kernels::float16>(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    kernels::polar_cuda(kernels::PolarBackward<T>{shape, heads<const T>(x), data<const T>(grad), data<T>(dx),
                                                  data<float>(parts)},
                        stream);
  });
  if (delta_in)
    kernels::row_sum_cuda(
        kernels::RowSum<float>{rows, width, data<float>(parts), nullptr, 1, nullptr, data<float>(ddelta)},
        stream);
  return {dx, delta_in ? ddelta.to(delta_in->scalar_type()) : ddelta};
}

constexpr auto run_cope = [](const auto& p) {
  kernels::cope_cuda(p, c10::cuda::getCurrentCUDAStream().stream());
};

CopeOutputs cope_cuda(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                      double position_scale) {
  const c10::cuda::CUDAGuard guard(q.device());
  const auto rows = [](const Tensor& content, const Tensor& z, double by, at::ScalarType type) {
    return cope_rows_with<double, float, kernels::bfloat16, kernels::float16>(run_cope, content, z, by, type);
  };
  return cope_around(rows, q, k, embedding, scale, position_scale);
}

CopeGrads cope_backward_cuda(const Tensor& weights_grad, const Tensor& content, const Tensor& z,
                             const Tensor& norm, const Tensor& q, const Tensor& k, const Tensor& embedding,
                             double scale, double position_scale) {
  const c10::cuda::CUDAGuard guard(q.device());
  const auto rows = [](const Tensor& dweights, const Tensor& c, const Tensor& places, const Tensor& norms,
                       double by) {
    return cope_rows_backward_with<double, float, kernels::bfloat16, kernels::float16>(run_cope, dweights, c,
                                                                                       places, norms, by);
  };
  return cope_backward_around(rows, weights_grad, content, z, norm, q, k, embedding, scale, position_scale);
}

}  // namespace

TORCH_LIBRARY_IMPL(darope, CUDA, m) {
  m.impl("rotate", rotate_cuda);
  m.impl("rotate_learned", learned_cuda);
  m.impl("rotate_learned_backward", backward_cuda);
  m.impl("polar", polar_cuda);
  m.impl("polar_backward", polar_backward_cuda);
  m.impl("cope_weights", cope_cuda);
  m.impl("cope_weights_backward", cope_backward_cuda);
}

}  // namespace darope::ops
