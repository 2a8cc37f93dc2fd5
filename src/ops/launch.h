#pragma once
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <tuple>

#include "kernels/machine.h"
#include "kernels/rotate.h"
#include "ops/rotate_learned.h"

// From torch tensors to the kernels' plain data, with the launch left open: `run(params)` is at::parallel_for
// over tokens on the CPU and a kernel launch on the current stream on CUDA. Types... are the element types
// the device's kernels exist for.
namespace darope::ops {

template <class... Types, class F>
void with_type(at::ScalarType type, F&& f) {
  const auto torch_type = [](auto value) {
    using T = decltype(value);
    if constexpr (std::is_same_v<T, double>)
      return at::kDouble;
    else if constexpr (std::is_same_v<T, float>)
      return at::kFloat;
    else if constexpr (std::is_same_v<T, kernels::bfloat16>)
      return at::kBFloat16;
    else
      return at::kHalf;
  };
  const bool known = ((type == torch_type(Types{}) && (f(Types{}), true)) || ...);
  TORCH_CHECK_TYPE(known, "q and k must be float64, float32, bfloat16 or float16; got dtype ", type);
}

template <class T>
kernels::Heads<T> heads(const Tensor& x) {
  return {static_cast<T*>(const_cast<void*>(x.const_data_ptr())), x.stride(0), x.stride(1), x.stride(2)};
}
inline Tensor readable(const Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}  // the kernels want contiguous channels
inline Tensor contiguous_like(const Tensor& x) { return at::empty(x.sizes(), x.options()); }
template <class C>
C* data(const Tensor& x) {
  return x.defined() && x.numel() ? static_cast<C*>(const_cast<void*>(x.const_data_ptr())) : nullptr;
}

// The CPU's launch: the tokens in equal parts, one a thread, as long as a part outweighs starting it. Which
// token is in which part depends on the number of threads alone, so sums over parts are the same in every
// run.
inline int64_t parts(const kernels::Bands& b) {
  const int64_t work = b.batch * b.tokens * b.count * (b.q_heads + b.k_heads);
  return std::clamp<int64_t>(work / kernels::machine::kPairsPerThread, 1, at::get_num_threads());
}
template <class F>
void in_parts(const kernels::Bands& b, F&& run) {
  const int64_t tokens = b.batch * b.tokens, count = parts(b), each = (tokens + count - 1) / count;
  at::parallel_for(0, count, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part)
      run(part, std::min(tokens, part * each), std::min(tokens, (part + 1) * each));
  });
}
constexpr auto run_cpu = [](const auto& p) {
  in_parts(p.bands, [&](int64_t, int64_t first, int64_t last) { kernels::rotate_cpu(p, first, last); });
};

inline kernels::Bands make_bands(const Tensor& q, const Tensor& k, const Tensor& positions,
                                 at::ArrayRef<double> theta, int64_t fast, bool half) {
  kernels::Bands b;
  b.batch = q.size(0), b.tokens = q.size(1), b.q_heads = q.size(2), b.k_heads = k.size(2);
  b.count = int64_t(theta.size()), b.fast = fast;
  b.layout = half ? kernels::Layout::half : kernels::Layout::interleaved;
  b.positions = positions.const_data_ptr<double>();
  b.position_stride = positions.dim() == 2 ? b.tokens : 0;
  std::copy(theta.begin(), theta.end(), b.theta);
  return b;
}

// Nothing to launch a kernel on; the plain versions take any shape.
inline bool is_empty(const Rotate& a) { return a.q.numel() == 0 || a.k.numel() == 0; }

template <class... Types, class Run>
Rotate::Result rotate_with(Run&& run, const Rotate& a) {
  const Tensor q = readable(a.q), k = readable(a.k), positions = a.positions.contiguous();
  const Tensor q_out = contiguous_like(q), k_out = contiguous_like(k);
  int64_t turning = int64_t(a.theta.size());
  while (turning > 0 && a.theta[size_t(turning) - 1] == 0)
    --turning;  // HoPE's slow bands stay: no angle is computed for them
  kernels::Bands bands = make_bands(q, k, positions, a.theta, turning, a.half);
  bands.scale = a.scale;
  with_type<Types...>(q.scalar_type(), [&](auto type) {
    using T = decltype(type);
    run(kernels::Forward<T>{
        bands, {}, heads<const T>(q), heads<const T>(k), heads<T>(q_out), heads<T>(k_out)});
  });
  return {q_out, k_out};
}

// logit comes in the compute type.
template <class... Types, class Run>
RotateLearned::Result rotate_learned_with(Run&& run, const RotateLearned& a, const Tensor& logit) {
  const Tensor q = readable(a.q), k = readable(a.k), positions = a.positions.contiguous();
  const Tensor alpha = a.alpha ? a.alpha->to(logit.scalar_type()).contiguous() : Tensor();
  const Tensor q_out = contiguous_like(q), k_out = contiguous_like(k),
               prior = at::empty(positions.sizes(), logit.options());
  const bool per_band = alpha.defined() && alpha.dim() == 2;
  std::vector<int64_t> shape = logit.sizes().vec();
  if (per_band) shape.push_back(int64_t(a.theta.size()) - a.fast);
  const Tensor share = at::empty(shape, logit.options());
  if (q.numel() == 0) return {q_out, k_out, share, prior.zero_()};
  kernels::Bands bands = make_bands(q, k, positions, a.theta, a.fast, a.half);
  bands.length = a.length;
  with_type<Types...>(q.scalar_type(), [&](auto type) {
    using T = decltype(type);
    using C = kernels::Compute<T>;
    const kernels::Coordinate<C> coordinate{share.numel() ? data<C>(logit) : nullptr, data<C>(alpha),
                                            data<C>(share), data<C>(prior), per_band};
    run(kernels::Forward<T>{bands, coordinate, heads<const T>(q), heads<const T>(k), heads<T>(q_out),
                            heads<T>(k_out)});
  });
  return {q_out, k_out, share, prior};
}

// dq, dk and d logit (shaped like share).
template <class... Types, class Run>
std::tuple<Tensor, Tensor, Tensor> rotate_learned_backward_with(Run&& run, const RotateLearnedBackward& a) {
  const Tensor q_grad = readable(a.q_grad), k_grad = readable(a.k_grad), q = readable(a.q), k = readable(a.k);
  const Tensor positions = a.positions.contiguous(), share = a.share.contiguous();
  const Tensor dq = contiguous_like(q_grad), dk = contiguous_like(k_grad),
               dlogit = at::empty(share.sizes(), share.options());
  if (q_grad.numel() == 0) return {dq, dk, dlogit.zero_()};
  kernels::Bands bands = make_bands(q_grad, k_grad, positions, a.theta, a.fast, a.half);
  bands.length = a.length;
  with_type<Types...>(q_grad.scalar_type(), [&](auto type) {
    using T = decltype(type);
    using C = kernels::Compute<T>;
    kernels::Backward<T> p{bands,
                           {},
                           heads<const T>(q),
                           heads<const T>(k),
                           heads<const T>(q_grad),
                           heads<const T>(k_grad),
                           heads<T>(dq),
                           heads<T>(dk),
                           data<C>(dlogit)};
    p.coordinate.share = data<C>(share);
    p.coordinate.per_band = share.dim() == 4;
    run(p);
  });
  return {dq, dk, dlogit};
}

}  // namespace darope::ops
