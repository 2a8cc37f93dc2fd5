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

// Band j of every head turned by position * theta[j] and multiplied by scale; bands with theta = 0 only
// multiplied.
std::tuple<Tensor, Tensor> rotate(const Tensor& q, const Tensor& k, const Tensor& positions,
                                  at::ArrayRef<double> theta, double scale, bool half);

// Fast bands turned by position, slow ones by L theta sigmoid(w x + shift + alpha beta). Returns q, k, and
// what the backward pass needs: share = coordinate / L, [B, T, Hk] (or [B, T, Hk, slow] when alpha is [Hk,
// slow]), and prior = beta.
struct Learned {
  Tensor q, k, share, prior;
};
Learned rotate_learned(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                       const std::optional<Tensor>& alpha, const std::optional<Tensor>& shift,
                       const Tensor& positions, at::ArrayRef<double> theta, int64_t fast, double length,
                       bool half);

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
