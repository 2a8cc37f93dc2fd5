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
// share. Args is RotateLearned or RotateLearnedBackward.
template <class Args>
std::pair<Tensor, Tensor> angles(const Args& a, const Tensor& share) {
  const at::ScalarType type = share.scalar_type();
  const Tensor bands = band_tensor(a.theta, a.positions);
  const Tensor by_position = by_token(a.positions) * bands.slice(0, 0, a.fast);
  const Tensor by_share =
      (share.dim() == 4 ? share : share.unsqueeze(-1)) * (bands.slice(0, a.fast) * a.length).to(type);
  const auto join = [&](const Tensor& one, const Tensor& two) {
    return at::cat({one.to(type).expand_symint({a.k.sym_size(0), a.k.sym_size(1), a.k.sym_size(2), -1}), two},
                   -1);
  };
  return {join(at::cos(by_position), at::cos(by_share)), join(at::sin(by_position), at::sin(by_share))};
}

// What a key head has, for the query heads that share it: [B, T, Hk, ...] -> [B, T, H, ...]
template <class Args>
Tensor for_queries(const Tensor& per_key_head, const Args& a) {
  const c10::SymInt group = a.q.sym_size(2) / a.k.sym_size(2);
  return group == 1 ? per_key_head : per_key_head.repeat_interleave_symint(group, 2);
}

}  // namespace

Rotate::Result rotate(const Rotate& a) {
  const at::ScalarType type = compute_type(a.q.scalar_type());
  const Tensor angle = by_token(a.positions) * band_tensor(a.theta, a.positions);
  const Tensor cosine = (at::cos(angle) * a.scale).to(type), sine = (at::sin(angle) * a.scale).to(type);
  return {turn(a.q, cosine, sine, a.half), turn(a.k, cosine, sine, a.half)};
}

RotateLearned::Result rotate_learned(const RotateLearned& a) {
  const at::ScalarType type = compute_type(a.q.scalar_type());
  const Tensor prior = positional_prior(a.positions, a.length).to(type);
  Tensor logit = project(a.x, a.w);  // [B, T, Hk]
  if (a.shift) logit = logit + *a.shift;
  if (a.alpha && a.alpha->dim() == 2)
    logit = logit.unsqueeze(-1) + by_token(prior) * a.alpha->to(type);
  else if (a.alpha)
    logit = logit + prior.unsqueeze(-1) * a.alpha->to(type);
  const Tensor share = at::sigmoid(logit);
  const auto [cosine, sine] = angles(a, share);
  return {turn(a.q, for_queries(cosine, a), for_queries(sine, a), a.half), turn(a.k, cosine, sine, a.half),
          share, prior};
}

std::tuple<Tensor, Tensor, Tensor> rotate_learned_backward(const RotateLearnedBackward& a) {
  const Tensor& share = a.share;
  const at::ScalarType type = share.scalar_type();
  const auto [cosine, sine] = angles(a, share);
  const Tensor dq = turn(a.q_grad.to(type), for_queries(cosine, a), -for_queries(sine, a), a.half),
               dk = turn(a.k_grad.to(type), cosine, -sine, a.half);
  const auto angle_grad = [&](const Tensor& x, const Tensor& grad) {  // the cross product, [B, T, H, d/2]
    const Tensor left = pairs(x, a.half), right = pairs(grad, a.half);
    return left.select(-1, 0) * right.select(-1, 1) - left.select(-1, 1) * right.select(-1, 0);
  };
  const Tensor from_q = angle_grad(a.q, dq).unflatten_symint(2, {a.k.sym_size(2), -1}).sum(3);
  Tensor dlogit = (from_q + angle_grad(a.k, dk)).slice(-1, a.fast) *
                  (band_tensor(a.theta, a.positions).slice(0, a.fast) * a.length).to(type);
  if (share.dim() == 3) dlogit = dlogit.sum(-1);
  return {dq.to(a.q.scalar_type()), dk.to(a.k.scalar_type()), dlogit * share * (1 - share)};
}

}  // namespace plain
}  // namespace darope::ops
