#include "ops/checks.h"

#include "kernels/rotate.h"
#include "ops/rotate.h"

namespace darope::ops {
namespace {

void same_device(const Tensor& a, const char* a_name, const Tensor& q) {
  TORCH_CHECK_VALUE(a.device() == q.device(), a_name, " and q must be on one device; got device ", a.device(),
                    " and ", q.device());
}

// What Rotate and RotateLearned share.
template <class Args>
void check_turned(const Args& a) {
  const Tensor &q = a.q, &k = a.k, &positions = a.positions;
  const at::ArrayRef<double> theta = a.theta;
  TORCH_CHECK_VALUE(q.dim() == 4 && k.dim() == 4, "q and k must be [B, T, H, d]; got ", q.dim(), " and ",
                    k.dim(), " dimensions");
  TORCH_CHECK_TYPE(at::isFloatingType(q.scalar_type()), "q must be floating point; got dtype ",
                   q.scalar_type());
  TORCH_CHECK_TYPE(q.scalar_type() == k.scalar_type(), "q and k must have one dtype; got dtype ",
                   q.scalar_type(), " and ", k.scalar_type());
  same_device(k, "k", q);
  TORCH_CHECK_VALUE(
      q.sym_size(0) == k.sym_size(0) && q.sym_size(1) == k.sym_size(1) && q.sym_size(3) == k.sym_size(3),
      "q and k must agree in batch, tokens and head width; got ", q.sym_sizes(), " and ", k.sym_sizes());
  TORCH_CHECK_VALUE(k.sym_size(2) == 0 || q.sym_size(2) % k.sym_size(2) == 0,
                    "the heads of q must be a multiple of those of k; got ", q.sym_size(2), " and ",
                    k.sym_size(2));
  TORCH_CHECK_VALUE(!theta.empty() && int64_t(theta.size()) <= kernels::kMaxBands, "theta must hold 1 to ",
                    kernels::kMaxBands, " frequencies; got ", theta.size());
  TORCH_CHECK_VALUE(q.sym_size(3) == 2 * int64_t(theta.size()),
                    "theta must hold one frequency for each pair of the ", q.sym_size(3), " channels; got ",
                    theta.size());
  TORCH_CHECK_TYPE(positions.scalar_type() == at::kDouble,
                   "positions must come as dtype float64 here; got dtype ", positions.scalar_type());
  same_device(positions, "positions", q);
  TORCH_CHECK_VALUE((positions.dim() == 1 && positions.sym_size(0) == q.sym_size(1)) ||
                        (positions.dim() == 2 && positions.sym_size(0) == q.sym_size(0) &&
                         positions.sym_size(1) == q.sym_size(1)),
                    "positions must be [T] or [B, T] with B, T = ", q.sym_size(0), ", ", q.sym_size(1),
                    "; got ", positions.sym_sizes());
}

// What RotateLearned and its gradient share.
template <class Args>
void check_learned(const Args& a) {
  check_turned(a);
  const Tensor &q = a.q, &k = a.k, &x = a.x, &w = a.w;
  const Maybe& alpha = a.alpha;
  const at::ArrayRef<double> theta = a.theta;
  const int64_t fast = a.fast;
  TORCH_CHECK_VALUE(q.sym_size(2) > 0 && k.sym_size(2) > 0, "q and k must have heads; got ", q.sym_size(2),
                    " and ", k.sym_size(2));
  const int64_t slow = int64_t(theta.size()) - fast;
  TORCH_CHECK_VALUE(fast >= 0 && slow >= 0, "fast must lie between 0 and the number of bands, ", theta.size(),
                    "; got ", fast);
  TORCH_CHECK_TYPE(x.scalar_type() == q.scalar_type(), "x and q must have one dtype; got dtype ",
                   x.scalar_type(), " and ", q.scalar_type());
  same_device(x, "x", q);
  TORCH_CHECK_VALUE(x.dim() == 3 && x.sym_size(0) == q.sym_size(0) && x.sym_size(1) == q.sym_size(1),
                    "x must be [B, T, D] with B, T = ", q.sym_size(0), ", ", q.sym_size(1), "; got ",
                    x.sym_sizes());
  TORCH_CHECK_VALUE(w.dim() == 2 && w.sym_size(0) == k.sym_size(2) && w.sym_size(1) == x.sym_size(2),
                    "w must be [", k.sym_size(2), ", ", x.sym_size(2), "], one row per key head; got ",
                    w.sym_sizes());
  const auto parameter = [&](const Tensor& p, const char* name) {
    TORCH_CHECK_TYPE(p.scalar_type() == q.scalar_type() ||
                         (p.scalar_type() == at::kFloat && q.scalar_type() != at::kDouble),
                     name, " must have the dtype of q, or float32 beside a lower one; got dtype ",
                     p.scalar_type(), " and ", q.scalar_type());
    same_device(p, name, q);
  };
  parameter(w, "w");
  if (alpha) {
    parameter(*alpha, "alpha");
    TORCH_CHECK_VALUE(
        (alpha->dim() == 1 && alpha->sym_size(0) == k.sym_size(2)) ||
            (alpha->dim() == 2 && alpha->sym_size(0) == k.sym_size(2) && alpha->sym_size(1) == slow),
        "alpha must be [", k.sym_size(2), "] or [", k.sym_size(2), ", ", slow, "]; got ", alpha->sym_sizes());
  }
}

}  // namespace

void check(const Rotate& a) { check_turned(a); }

void check(const RotateLearned& a) {
  check_learned(a);
  if (!a.shift) return;
  const Tensor &q = a.q, &shift = *a.shift;
  TORCH_CHECK_VALUE(shift.dim() == 3 && shift.sym_size(0) == q.sym_size(0) &&
                        shift.sym_size(1) == q.sym_size(1) && shift.sym_size(2) == a.k.sym_size(2),
                    "shift must be [B, T, key heads]; got ", shift.sym_sizes());
  TORCH_CHECK_TYPE(shift.scalar_type() == compute_type(q.scalar_type()), "shift must have dtype ",
                   compute_type(q.scalar_type()), "; got dtype ", shift.scalar_type());
  same_device(shift, "shift", q);
}

void check(const RotateLearnedBackward& a) {
  check_learned(a);
  const Tensor &q = a.q, &k = a.k, &q_grad = a.q_grad, &k_grad = a.k_grad, &share = a.share, &prior = a.prior;
  const auto like = [](const Tensor& one, const char* name, const Tensor& other, const char* other_name) {
    TORCH_CHECK_VALUE(one.dim() == other.dim() && one.sym_sizes() == other.sym_sizes(), name,
                      " must be shaped like ", other_name, ", ", other.sym_sizes(), "; got ",
                      one.sym_sizes());
    TORCH_CHECK_VALUE(one.device() == other.device(), name, " and ", other_name,
                      " must be on one device; got device ", one.device(), " and ", other.device());
  };
  like(q_grad, "q_grad", q, "q");
  like(k_grad, "k_grad", k, "k");
  like(prior, "prior", a.positions, "positions");
  TORCH_CHECK_TYPE(q_grad.scalar_type() == q.scalar_type() && k_grad.scalar_type() == q.scalar_type(),
                   "q_grad and k_grad must have the dtype of q; got dtype ", q_grad.scalar_type(), " and ",
                   k_grad.scalar_type());
  const int64_t slow = int64_t(a.theta.size()) - a.fast;
  const bool per_band = a.alpha && a.alpha->dim() == 2;
  TORCH_CHECK_VALUE(share.dim() == (per_band ? 4 : 3) && share.sym_size(0) == k.sym_size(0) &&
                        share.sym_size(1) == k.sym_size(1) && share.sym_size(2) == k.sym_size(2) &&
                        (!per_band || share.sym_size(3) == slow),
                    "share must be [B, T, key heads", per_band ? ", slow]" : "]",
                    " as the forward gave it; got ", share.sym_sizes());
  const at::ScalarType type = compute_type(q.scalar_type());
  TORCH_CHECK_TYPE(share.scalar_type() == type && prior.scalar_type() == type,
                   "share and prior must have dtype ", type, "; got dtype ", share.scalar_type(), " and ",
                   prior.scalar_type());
  same_device(share, "share", q);
}

}  // namespace darope::ops
