#pragma once
#include <optional>

#include "kernels/cope.h"
#include "ops/launch.h"

namespace darope::ops {

// CoPE's causal attention weights for q [B, Tq, H, d], the last of the tokens of k [B, Tk, H, d], and learned
// vectors embedding [P, d]: [B, H, Tq, Tk] in q's dtype. What is counted is counted in float at least
// (kernels/cope.h has the equations). The rest is for the way back: content = q . k, z = q . embedding and
// the rows' norm, in the compute type.
struct CopeWeights {
  static constexpr auto name = "darope::cope_weights";
  using Result = std::tuple<Tensor, Tensor, Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, double, double, const Maybe&>;

  const Tensor &q, &k, &embedding;
  double scale = 1, position_scale = 1;
  const Maybe& first;  // [B, Tq] int64: the first key that a query sees, no later than its own; none: all
  All all() const { return {q, k, embedding, scale, position_scale, first}; }
};
Tensor cope_weights(const CopeWeights&);

// Its gradient: of q, k and embedding.
struct CopeWeightsBackward {
  static constexpr auto name = "darope::cope_weights_backward";
  using Result = std::tuple<Tensor, Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                         const Tensor&, const Tensor&, double, double, const Maybe&>;

  const Tensor &weights_grad, &content, &z, &norm, &q, &k, &embedding;
  double scale = 1, position_scale = 1;
  const Maybe& first;
  All all() const { return {weights_grad, content, z, norm, q, k, embedding, scale, position_scale, first}; }
  CopeWeights forward() const { return {q, k, embedding, scale, position_scale, first}; }
};

// Args is either of the two.
template <class Args>
kernels::CopeShape cope_rows(const Args& a, const Tensor& content, const Tensor& z) {
  return {.count = content.numel() / content.size(3),
          .heads = content.size(1),
          .queries = content.size(2),
          .keys = content.size(3),
          .places = z.size(3),
          .scale = a.scale,
          .first = a.first ? data<int64_t>(*a.first) : nullptr};
}

// The rows' kernels with the launch left open, as in launch.h: weights and norm.
template <class... Types, class Run>
std::tuple<Tensor, Tensor> cope_rows_with(Run&& run, const CopeWeights& a, const Tensor& content,
                                          const Tensor& z) {
  const Tensor weights = at::empty(content.sizes(), a.q.options()),
               norm = at::empty(content.sizes().slice(0, 3), content.options());
  if (weights.numel() == 0) return {weights, norm};
  with_type<Types...>(a.q.scalar_type(), [&](auto t) {
    using T = decltype(t);
    using C = kernels::Compute<T>;
    run(kernels::Cope<T>{cope_rows(a, content, z), data<C>(content), data<C>(z), data<T>(weights),
                         data<C>(norm)});
  });
  return {weights, norm};
}
// Gradients of content and z; everything in `a` is contiguous.
template <class... Types, class Run>
std::tuple<Tensor, Tensor> cope_rows_backward_with(Run&& run, const CopeWeightsBackward& a) {
  const Tensor content_grad = at::empty(a.weights_grad.sizes(), a.weights_grad.options()),
               z_grad = at::zeros(a.z.sizes(), a.z.options());
  if (content_grad.numel() == 0) return {content_grad, z_grad};
  with_type<Types...>(a.weights_grad.scalar_type(), [&](auto t) {
    using T = decltype(t);
    using C = kernels::Compute<T>;
    run(kernels::CopeBackward<T>{cope_rows(a, a.content, a.z), data<C>(a.content), data<C>(a.z),
                                 data<C>(a.norm), data<T>(a.weights_grad), data<T>(content_grad),
                                 data<C>(z_grad)});
  });
  return {content_grad, z_grad};
}

// The operator around its rows.
using CopeRows = std::tuple<Tensor, Tensor> (*)(const CopeWeights&, const Tensor& content, const Tensor& z);
using CopeRowsBackward = std::tuple<Tensor, Tensor> (*)(const CopeWeightsBackward&);
CopeWeights::Result cope_around(CopeRows rows, const CopeWeights&);
CopeWeightsBackward::Result cope_backward_around(CopeRowsBackward rows, const CopeWeightsBackward&);

}  // namespace darope::ops
