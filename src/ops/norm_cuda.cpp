#include "ops/norm_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "kernels/norm.h"

namespace darope {
namespace {

template <class Call> void with_type(const Tensor& x, const Call& call) {
  if (x.scalar_type() == at::kFloat) call(float{});
  else call(kernels::bfloat16{});
}
template <class T> const T* read(const Tensor& x) { return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr; }
template <class T> T* write(const Tensor& x) { return static_cast<T*>(x.mutable_data_ptr()); }
void* stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

}  // namespace

bool norm_fits_on_cuda(const Tensor& x) { return kernels::norm_fits_cuda(x.size(-1)) && x.numel() > 0; }

NormOutputs norm_on_cuda(const Tensor& x, const Tensor& delta, const Tensor& weight, double eps) {
  const c10::cuda::CUDAGuard guard(x.device());
  const int64_t width = x.size(-1), rows = x.numel() / width;
  const NormOutputs out{delta.defined() ? at::empty_like(x) : x, at::empty_like(x), at::empty({rows}, x.options().dtype(at::kFloat))};
  with_type(x, [&](auto type) {
    using T = decltype(type);
    kernels::norm_cuda(kernels::Norm<T>{rows, width, eps, read<T>(x), read<T>(delta), read<T>(weight), delta.defined() ? write<T>(out.sum) : nullptr, write<T>(out.norm),
                                        write<float>(out.scale)}, stream());
  });
  return out;
}

NormGrads norm_backward_on_cuda(const Tensor& grad_sum, const Tensor& grad_norm, const Tensor& sum, const Tensor& weight, const Tensor& scale) {
  const c10::cuda::CUDAGuard guard(sum.device());
  const int64_t width = sum.size(-1), rows = sum.numel() / width;
  const Tensor grad = at::empty_like(sum), parts = at::empty({kernels::norm_parts(rows), width}, scale.options());
  with_type(sum, [&](auto type) {
    using T = decltype(type);
    kernels::norm_cuda(kernels::NormBackward<T>{rows, width, read<T>(sum), read<T>(weight), read<float>(scale), read<T>(grad_sum), read<T>(grad_norm), write<T>(grad),
                                                write<float>(parts)}, stream());
  });
  return {grad, parts.sum(0).to(weight.scalar_type())};
}

}  // namespace darope
