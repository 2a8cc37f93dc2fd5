#include "ops/model_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/adamw.h"
#include "kernels/norm.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/swiglu.h"

namespace darope {
namespace {

template <class Call>
void with_type(const Tensor& x, const Call& call) {
  if (x.scalar_type() == at::kFloat)
    call(float{});
  else
    call(kernels::bfloat16{});
}
template <class T>
const T* read(const Tensor& x) {
  return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr;
}
template <class T>
T* write(const Tensor& x) {
  return static_cast<T*>(x.mutable_data_ptr());
}
void* stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

}  // namespace

bool norm_fits_on_cuda(const Tensor& x) { return kernels::norm_fits_cuda(x.size(-1)) && x.numel() > 0; }

NormOutputs norm_on_cuda(const Tensor& x, const Tensor& delta, const Tensor& weight, double eps) {
  const c10::cuda::CUDAGuard guard(x.device());
  const int64_t width = x.size(-1), rows = x.numel() / width;
  const NormOutputs out{delta.defined() ? at::empty_like(x) : x, at::empty_like(x),
                        at::empty({rows}, x.options().dtype(at::kFloat))};
  with_type(x, [&](auto type) {
    using T = decltype(type);
    kernels::norm_cuda(kernels::Norm<T>{rows, width, eps, read<T>(x), read<T>(delta), read<T>(weight),
                                        delta.defined() ? write<T>(out.sum) : nullptr, write<T>(out.norm),
                                        write<float>(out.scale)},
                       stream());
  });
  return out;
}

NormGrads norm_backward_on_cuda(const Tensor& grad_sum, const Tensor& grad_norm, const Tensor& sum,
                                const Tensor& weight, const Tensor& scale) {
  const c10::cuda::CUDAGuard guard(sum.device());
  const int64_t width = sum.size(-1), rows = sum.numel() / width;
  const Tensor grad = at::empty_like(sum), weight_grad = at::empty_like(weight),
               parts = at::empty({kernels::norm_parts(rows), width}, scale.options());
  with_type(sum, [&](auto type) {
    using T = decltype(type);
    kernels::norm_cuda(
        kernels::NormBackward<T>{rows, width, read<T>(sum), read<T>(weight), read<float>(scale),
                                 read<T>(grad_sum), read<T>(grad_norm), write<T>(grad), write<float>(parts)},
        stream());
    kernels::row_sum_cuda(kernels::RowSum<T>{parts.size(0), width, read<float>(parts), nullptr, 1, nullptr,
                                             write<T>(weight_grad)},
                          stream());
  });
  return {grad, weight_grad};
}

bool swiglu_fits_on_cuda(const Tensor& h) {
  const bool number = h.scalar_type() == at::kFloat || h.scalar_type() == at::kBFloat16;
  return h.is_cuda() && number && h.numel() > 0 && h.is_contiguous() &&
         kernels::swiglu_fits_cuda(h.size(1) / 2);
}

Tensor swiglu_on_cuda(const Tensor& h) {
  const c10::cuda::CUDAGuard guard(h.device());
  const int64_t rows = h.size(0), width = h.size(1) / 2;
  const Tensor out = at::empty({rows, width}, h.options());
  with_type(h, [&](auto type) {
    using T = decltype(type);
    kernels::swiglu_cuda(kernels::SwiGlu<T>{rows, width, read<T>(h), write<T>(out)}, stream());
  });
  return out;
}

Tensor swiglu_backward_on_cuda(const Tensor& grad, const Tensor& h) {
  const c10::cuda::CUDAGuard guard(h.device());
  const Tensor h_grad = at::empty_like(h);
  with_type(h, [&](auto type) {
    using T = decltype(type);
    kernels::swiglu_cuda(
        kernels::SwiGluBackward<T>{h.size(0), h.size(1) / 2, read<T>(h), read<T>(grad), write<T>(h_grad)},
        stream());
  });
  return h_grad;
}

bool softmax_nll_fits_on_cuda(const Tensor& logits) {
  const bool number = logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kBFloat16;
  return logits.is_cuda() && number && logits.numel() > 0 && kernels::softmax_nll_fits_cuda(logits.size(1));
}

void softmax_nll_on_cuda(const Tensor& logits, const Tensor& targets, const Tensor& share,
                         const Tensor& nll) {
  const c10::cuda::CUDAGuard guard(logits.device());
  with_type(logits, [&](auto type) {
    using T = decltype(type);
    kernels::softmax_nll_cuda(
        kernels::SoftmaxNll<T>{logits.size(0), logits.size(1), write<T>(logits), read<int64_t>(targets),
                               read<float>(share), write<float>(nll)},
        stream());
  });
}

bool adamw_fits_on_cuda(const Tensor& weight, const Tensor& copy) {
  return weight.is_cuda() && weight.scalar_type() == at::kFloat && weight.numel() % 4 == 0 &&
         (!copy.defined() || copy.scalar_type() == at::kBFloat16);
}

void adamw_on_cuda(const AdamWStep& s) {
  using kernels::bfloat16;
  const c10::cuda::CUDAGuard guard(s.weight.device());
  const Tensor room = at::empty({kernels::adamw_room()}, s.weight.options());
  kernels::adamw_cuda({.count = s.weight.numel(),
                       .decayed = s.decayed,
                       .weight = write<float>(s.weight),
                       .first = write<float>(s.first),
                       .second = write<float>(s.second),
                       .gradient = write<float>(s.gradient),
                       .low_gradient = s.low_gradient.defined() ? write<bfloat16>(s.low_gradient) : nullptr,
                       .copy = s.copy.defined() ? write<bfloat16>(s.copy) : nullptr,
                       .beta1 = float(s.beta1),
                       .beta2 = float(s.beta2),
                       .epsilon = float(s.epsilon),
                       .decay = float(s.decay),
                       .clip = float(s.clip),
                       .rate = read<float>(s.rate),
                       .loss = read<float>(s.loss),
                       .steps = write<float>(s.steps),
                       .stopped = write<float>(s.stopped),
                       .norm = write<float>(s.norm),
                       .room = write<float>(room)},
                      stream());
}

}  // namespace darope
