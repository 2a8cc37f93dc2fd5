#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>
#include <tuple>
#include <vector>

#include "kernels/rotate.h"

// The fused operators, registered as torch.ops.darope.*, with CPU, CUDA, Meta and Autograd kernels.
// q is [B, T, H, d], k is [B, T, Hk, d]; outputs are contiguous [B, T, H, d], which is what the fast
// attention kernels take.
namespace darope::ops {
using at::Tensor;
using Maybe = std::optional<Tensor>;

// Band j of every head turned by position * theta[j] and multiplied by scale; bands with theta = 0 only
// multiplied. Returns q and k.
struct Rotate {
  static constexpr auto name = "darope::rotate";
  using Result = std::tuple<Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, at::ArrayRef<double>, double, bool>;

  const Tensor &q, &k, &positions;
  at::ArrayRef<double> theta;
  double scale = 1;
  bool half = false;
  All all() const { return {q, k, positions, theta, scale, half}; }
};
Rotate::Result rotate(const Rotate&);

// Fast bands turned by position, slow ones by L theta sigmoid(w x + shift + alpha beta). Returns q, k, and
// what the backward pass needs: share = coordinate / L, [B, T, Hk] (or [B, T, Hk, slow] when alpha is [Hk,
// slow]), and prior = beta.
struct RotateLearned {
  static constexpr auto name = "darope::rotate_learned";
  using Result = std::tuple<Tensor, Tensor, Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Maybe&,
                         const Maybe&, const Tensor&, at::ArrayRef<double>, int64_t, double, bool>;

  const Tensor &q, &k, &x, &w;
  const Maybe &alpha, &shift;
  const Tensor& positions;
  at::ArrayRef<double> theta;
  int64_t fast = 0;
  double length = 0;
  bool half = false;
  All all() const { return {q, k, x, w, alpha, shift, positions, theta, fast, length, half}; }
};
RotateLearned::Result rotate_learned(const RotateLearned&);

// float for everything below double: the type in which angles, logits and sums are formed.
inline at::ScalarType compute_type(at::ScalarType t) { return t == at::kDouble ? at::kDouble : at::kFloat; }

// Autocast would turn the products inside an operator, whose type its kernel relies on, into bfloat16: while
// this lives it does not.
struct NoAutocast : c10::impl::ExcludeDispatchKeyGuard {
  NoAutocast() : ExcludeDispatchKeyGuard(c10::autocast_dispatch_keyset) {}
};

// w . x for every token and head in the compute type: [B, T, D] x [H, D] -> [B, T, H].
Tensor project(const Tensor& x, const Tensor& w);

// beta_m of Eq. 3 in double, shaped like positions (double).
Tensor positional_prior(const Tensor& positions, double length);

}  // namespace darope::ops
