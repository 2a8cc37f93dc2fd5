#pragma once
#include <optional>

#include "kernels/cope.h"
#include "ops/launch.h"

namespace darope::ops {

// CoPE's causal attention weights for q [B, Tq, H, d], the last of the tokens of k [B, Tk, H, d], and learned
// vectors embedding [P, d]: [B, H, Tq, Tk] in q's dtype. What is counted is counted in float at least
// (kernels/cope.h has the equations).
Tensor cope_weights(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                    double position_scale);

using CopeOutputs =
    std::tuple<Tensor, Tensor, Tensor,
               Tensor>;  // weights; content = q . k, z = q . embedding and the rows' norm in the compute type
using CopeGrads = std::tuple<Tensor, Tensor, Tensor>;  // q, k, embedding

inline kernels::CopeShape cope_rows(const Tensor& content, const Tensor& z, double scale) {
  return {content.numel() / content.size(3), content.size(2), content.size(3), z.size(3), scale};
}

// The rows' kernels with the launch left open, as in launch.h.
template <class... Types, class Run>
std::tuple<Tensor, Tensor> cope_rows_with(Run&& run, const Tensor& content, const Tensor& z, double scale,
                                          at::ScalarType type) {
  const Tensor weights = at::empty(content.sizes(), content.options().dtype(type)),
               norm = at::empty(content.sizes().slice(0, 3), content.options());
  if (weights.numel() == 0) return {weights, norm};
  with_type<Types...>(type, [&](auto t) {
    using T = decltype(t);
    using C = kernels::Compute<T>;
    run(kernels::Cope<T>{cope_rows(content, z, scale), data<C>(content), data<C>(z), data<T>(weights),
                         data<C>(norm)});
  });
  return {weights, norm};
}
template <class... Types, class Run>
std::tuple<Tensor, Tensor> cope_rows_backward_with(Run&& run, const Tensor& weights_grad,
                                                   const Tensor& content, const Tensor& z, const Tensor& norm,
                                                   double scale) {
  const Tensor content_grad = at::empty(weights_grad.sizes(), weights_grad.options()),
               z_grad = at::zeros(z.sizes(), z.options());
  if (content_grad.numel() == 0) return {content_grad, z_grad};
  with_type<Types...>(weights_grad.scalar_type(), [&](auto t) {
    using T = decltype(t);
    using C = kernels::Compute<T>;
    run(kernels::CopeBackward<T>{cope_rows(content, z, scale), data<C>(content), data<C>(z), data<C>(norm),
                                 data<T>(weights_grad), data<T>(content_grad), data<C>(z_grad)});
  });
  return {content_grad, z_grad};
}

// The operator around its rows: rows(content, z, scale, type), and backward rows(weights_grad, content, z,
// norm, scale).
using CopeRows = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, double, at::ScalarType);
using CopeRowsBackward = std::tuple<Tensor, Tensor> (*)(const Tensor&, const Tensor&, const Tensor&,
                                                        const Tensor&, double);
CopeOutputs cope_around(CopeRows rows, const Tensor& q, const Tensor& k, const Tensor& embedding,
                        double scale, double position_scale);
CopeGrads cope_backward_around(CopeRowsBackward rows, const Tensor& weights_grad, const Tensor& content,
                               const Tensor& z, const Tensor& norm, const Tensor& q, const Tensor& k,
                               const Tensor& embedding, double scale, double position_scale);

}  // namespace darope::ops
