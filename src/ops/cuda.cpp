#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "kernels/polar.h"
#include "kernels/sum.h"
#include "ops/checks.h"
#include "ops/cope.h"
#include "ops/launch.h"
#include "ops/operator.h"
#include "ops/plain.h"
#include "ops/polar.h"
#include "ops/rotate_learned.h"

// The CUDA kernels of the operators; a build without nvcc leaves this file out, and CUDA tensors take the
// plain versions.
namespace darope::ops {
namespace {

constexpr auto run_cuda = [](const auto& p) {
  kernels::rotate_cuda(p, c10::cuda::getCurrentCUDAStream().stream());
};

Rotate::Result rotate_cuda(const Rotate& a) {
  check(a);
  if (is_empty(a)) return plain::rotate(a);
  const c10::cuda::CUDAGuard guard(a.q.device());
  return rotate_with<double, float, kernels::bfloat16, kernels::float16>(run_cuda, a);
}

RotateLearned::Result learned_cuda(const RotateLearned& a) {
  check(a);
  const c10::cuda::CUDAGuard guard(a.q.device());
  return rotate_learned_with<double, float, kernels::bfloat16, kernels::float16>(run_cuda, a, fused_logit(a));
}

// In one pass and a short one, where the library multiplies first and adds up with few threads.
Tensor alpha_grad_cuda(const RotateLearnedBackward& a, const Tensor& dlogit) {
  const Maybe& alpha = a.alpha;
  if (!alpha || dlogit.scalar_type() != at::kFloat || alpha->scalar_type() == at::kDouble ||
      dlogit.numel() == 0)
    return alpha_grad(a, dlogit);
  const Tensor prior = a.prior.contiguous(), out = at::empty(alpha->sizes(), alpha->options());
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

RotateLearnedBackward::Result backward_cuda(const RotateLearnedBackward& a) {
  check(a);
  const c10::cuda::CUDAGuard guard(a.q_grad.device());
  const auto [dq, dk, dlogit] =
      rotate_learned_backward_with<double, float, kernels::bfloat16, kernels::float16>(run_cuda, a);
  return from_logit_grad(a, dq, dk, dlogit, alpha_grad_cuda(a, dlogit));
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

Tensor polar_cuda(const Polar& a) {
  check(a);
  if (!polar_fits(a.x)) return polar_plain(a);
  const c10::cuda::CUDAGuard guard(a.x.device());
  const Tensor x = polar_rows(a.x), positions = a.positions.contiguous(),
               delta = a.delta ? a.delta->to(at::kFloat).contiguous() : Tensor();
  const Tensor out = at::empty({x.size(0), x.size(1), x.size(2), 2 * x.size(3)}, x.options());
  with_type<float, kernels::bfloat16, kernels::float16>(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    kernels::polar_cuda(
        kernels::Polar<T>{polar_shape(x, positions, a.base, delta), heads<const T>(x), data<T>(out)},
        c10::cuda::getCurrentCUDAStream().stream());
  });
  return out;
}

PolarBackward::Result polar_backward_cuda(const PolarBackward& a) {
  check(a);
  if (!polar_fits(a.x)) return polar_backward_plain(a);
  const c10::cuda::CUDAGuard guard(a.x.device());
  const Tensor grad = polar_rows(a.grad.contiguous()), x = polar_rows(a.x),
               positions = a.positions.contiguous();
  const Tensor delta = a.delta ? a.delta->to(at::kFloat).contiguous() : Tensor(),
               dx = at::empty(x.sizes(), x.options());
  const kernels::PolarShape shape = polar_shape(x, positions, a.base, delta);
  const int64_t width = shape.heads * shape.width, rows = kernels::polar_parts(shape);
  const Tensor parts = a.delta ? at::empty({rows, width}, delta.options()) : Tensor(),
               ddelta = a.delta ? at::empty_like(delta) : at::empty({0}, x.options());
  void* const stream = c10::cuda::getCurrentCUDAStream().stream();
  with_type<float, kernels::bfloat16, kernels::float16>(x.scalar_type(), [&](auto type) {
    using T = decltype(type);
    kernels::polar_cuda(kernels::PolarBackward<T>{shape, heads<const T>(x), data<const T>(grad), data<T>(dx),
                                                  data<float>(parts)},
                        stream);
  });
  if (a.delta)
    kernels::row_sum_cuda(
        kernels::RowSum<float>{rows, width, data<float>(parts), nullptr, 1, nullptr, data<float>(ddelta)},
        stream);
  return {dx, a.delta ? ddelta.to(a.delta->scalar_type()) : ddelta};
}

constexpr auto run_cope = [](const auto& p) {
  kernels::cope_cuda(p, c10::cuda::getCurrentCUDAStream().stream());
};

CopeWeights::Result cope_cuda(const CopeWeights& a) {
  const c10::cuda::CUDAGuard guard(a.q.device());
  const auto rows = [](const CopeWeights& given, const Tensor& content, const Tensor& z) {
    return cope_rows_with<double, float, kernels::bfloat16, kernels::float16>(run_cope, given, content, z);
  };
  return cope_around(rows, a);
}

CopeWeightsBackward::Result cope_backward_cuda(const CopeWeightsBackward& a) {
  const c10::cuda::CUDAGuard guard(a.q.device());
  const auto rows = [](const CopeWeightsBackward& given) {
    return cope_rows_backward_with<double, float, kernels::bfloat16, kernels::float16>(run_cope, given);
  };
  return cope_backward_around(rows, a);
}

}  // namespace

TORCH_LIBRARY_IMPL(darope, CUDA, m) {
  m.impl("rotate", Operator<Rotate>::kernel<rotate_cuda>);
  m.impl("rotate_learned", Operator<RotateLearned>::kernel<learned_cuda>);
  m.impl("rotate_learned_backward", Operator<RotateLearnedBackward>::kernel<backward_cuda>);
  m.impl("polar", Operator<Polar>::kernel<polar_cuda>);
  m.impl("polar_backward", Operator<PolarBackward>::kernel<polar_backward_cuda>);
  m.impl("cope_weights", Operator<CopeWeights>::kernel<cope_cuda>);
  m.impl("cope_weights_backward", Operator<CopeWeightsBackward>::kernel<cope_backward_cuda>);
}

}  // namespace darope::ops
