#include "ops/plain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/log.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace darope::ops {

Tensor project(const Tensor& x, const Tensor& w) {
  const NoAutocast exact;
  const at::ScalarType type = compute_type(x.scalar_type());
  return at::matmul(x.to(type), w.to(type).t());
}

Tensor positional_prior(const Tensor& positions, double length) {
  const Tensor m = (positions + 0.5).clamp(1e-6 * length, (1 - 1e-6) * length);
  return at::log(m / (length - m));
}

namespace plain {
namespace {

// [T] or [B, T] -> broadcasts over [B, T, H, bands]
Tensor by_token(const Tensor& positions) { return positions.unsqueeze(-1).unsqueeze(-1); }

Tensor band_tensor(at::ArrayRef<double> theta, const Tensor& positions) {
  return at::tensor(theta, positions.options().dtype(at::kDouble));
}

// [B, T, H, d] -> [B, T, H, d/2, 2] in the compute type: band j is pair j.
Tensor pairs(const Tensor& x, bool half) {
  const Tensor wide = x.to(compute_type(x.scalar_type()));
  return half ? wide.unflatten(-1, {2, -1}).transpose(-1, -2) : wide.unflatten(-1, {-1, 2});
}

Tensor turn(const Tensor& x, const Tensor& cosine, const Tensor& sine, bool half) {
  const Tensor both = pairs(x, half), first = both.select(-1, 0), second = both.select(-1, 1);
  const Tensor turned =
      at::stack({first * cosine - second * sine, first * sine + second * cosine}, half ? -2 : -1);
  return turned.flatten(-2).to(x.scalar_type());
}

// Cosine and sine of every band of every key head, [B, T, Hk, d/2]: fast bands by position, slow ones by
// share.
std::pair<Tensor, Tensor> angles(const Tensor& share, const Tensor& k, const Tensor& positions,
                                 at::ArrayRef<double> theta, int64_t fast, double length) {
  const at::ScalarType type = share.scalar_type();
  const Tensor bands = band_tensor(theta, positions);
  const Tensor by_position = by_token(positions) * bands.slice(0, 0, fast);
  const Tensor by_share =
      (share.dim() == 4 ? share : share.unsqueeze(-1)) * (bands.slice(0, fast) * length).to(type);
  const auto join = [&](const Tensor& a, const Tensor& b) {
    return at::cat({a.to(type).expand_symint({k.sym_size(0), k.sym_size(1), k.sym_size(2), -1}), b}, -1);
  };
  return {join(at::cos(by_position), at::cos(by_share)), join(at::sin(by_position), at::sin(by_share))};
}

// What a key head has, for the query heads that share it: [B, T, Hk, ...] -> [B, T, H, ...]
Tensor for_queries(const Tensor& per_key_head, const Tensor& q, const Tensor& k) {
  const c10::SymInt group = q.sym_size(2) / k.sym_size(2);
  return group == 1 ? per_key_head : per_key_head.repeat_interleave_symint(group, 2);
}

}  // namespace

std::tuple<Tensor, Tensor> rotate(const Tensor& q, const Tensor& k, const Tensor& positions,
                                  at::ArrayRef<double> theta, double scale, bool half) {
  const at::ScalarType type = compute_type(q.scalar_type());
  const Tensor angle = by_token(positions) * band_tensor(theta, positions);
  const Tensor cosine = (at::cos(angle) * scale).to(type), sine = (at::sin(angle) * scale).to(type);
  return {turn(q, cosine, sine, half), turn(k, cosine, sine, half)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> rotate_learned(const Tensor& q, const Tensor& k, const Tensor& x,
                                                          const Tensor& w, const std::optional<Tensor>& alpha,
                                                          const std::optional<Tensor>& shift,
                                                          const Tensor& positions, at::ArrayRef<double> theta,
                                                          int64_t fast, double length, bool half) {
  const at::ScalarType type = compute_type(q.scalar_type());
  const Tensor prior = positional_prior(positions, length).to(type);
  Tensor logit = project(x, w);  // [B, T, Hk]
  if (shift) logit = logit + *shift;
  if (alpha && alpha->dim() == 2)
    logit = logit.unsqueeze(-1) + by_token(prior) * alpha->to(type);
  else if (alpha)
    logit = logit + prior.unsqueeze(-1) * alpha->to(type);
  const Tensor share = at::sigmoid(logit);
  const auto [cosine, sine] = angles(share, k, positions, theta, fast, length);
  return {turn(q, for_queries(cosine, q, k), for_queries(sine, q, k), half), turn(k, cosine, sine, half),
          share, prior};
}

std::tuple<Tensor, Tensor, Tensor> rotate_learned_backward(const Tensor& q_grad, const Tensor& k_grad,
                                                           const Tensor& q, const Tensor& k,
                                                           const Tensor& share, const Tensor& positions,
                                                           at::ArrayRef<double> theta, int64_t fast,
                                                           double length, bool half) {
  const at::ScalarType type = share.scalar_type();
  const auto [cosine, sine] = angles(share, k, positions, theta, fast, length);
  const Tensor dq = turn(q_grad.to(type), for_queries(cosine, q, k), -for_queries(sine, q, k), half),
               dk = turn(k_grad.to(type), cosine, -sine, half);
  const auto angle_grad = [&](const Tensor& x, const Tensor& grad) {  // the cross product, [B, T, H, d/2]
    const Tensor a = pairs(x, half), b = pairs(grad, half);
    return a.select(-1, 0) * b.select(-1, 1) - a.select(-1, 1) * b.select(-1, 0);
  };
  const Tensor from_q = angle_grad(q, dq).unflatten_symint(2, {k.sym_size(2), -1}).sum(3);
  Tensor dlogit = (from_q + angle_grad(k, dk)).slice(-1, fast) *
                  (band_tensor(theta, positions).slice(0, fast) * length).to(type);
  if (share.dim() == 3) dlogit = dlogit.sum(-1);
  return {dq.to(q.scalar_type()), dk.to(k.scalar_type()), dlogit * share * (1 - share)};
}

}  // namespace plain
}  // namespace darope::ops
