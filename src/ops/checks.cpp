#include "ops/checks.h"

#include "kernels/rotate.h"
#include "ops/rotate.h"

namespace darope::ops {
namespace {

void same_device(const Tensor& a, const char* a_name, const Tensor& q) {
  TORCH_CHECK_VALUE(a.device() == q.device(), a_name, " and q must be on one device; got device ", a.device(),
                    " and ", q.device());
}

}  // namespace

void check_rotate(const Tensor& q, const Tensor& k, const Tensor& positions, at::ArrayRef<double> theta) {
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
  TORCH_CHECK_VALUE(k.sym_size(2) > 0 && q.sym_size(2) % k.sym_size(2) == 0,
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

void check_learned(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                   const std::optional<Tensor>& alpha, const std::optional<Tensor>& shift, int64_t fast,
                   at::ArrayRef<double> theta) {
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
  if (shift) {
    TORCH_CHECK_VALUE(shift->dim() == 3 && shift->sym_size(0) == q.sym_size(0) &&
                          shift->sym_size(1) == q.sym_size(1) && shift->sym_size(2) == k.sym_size(2),
                      "shift must be [B, T, key heads]; got ", shift->sym_sizes());
    TORCH_CHECK_TYPE(shift->scalar_type() == compute_type(q.scalar_type()), "shift must have dtype ",
                     compute_type(q.scalar_type()), "; got dtype ", shift->scalar_type());
    same_device(*shift, "shift", q);
  }
}

void check_learned_backward(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                            const Tensor& x, const Tensor& w, const std::optional<Tensor>& alpha,
                            const Tensor& share, const Tensor& prior, const Tensor& positions,
                            at::ArrayRef<double> theta, int64_t fast) {
  check_rotate(q, k, positions, theta);
  check_learned(q, k, x, w, alpha, std::nullopt, fast, theta);
  const auto like = [](const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
    TORCH_CHECK_VALUE(a.dim() == b.dim() && a.sym_sizes() == b.sym_sizes(), a_name, " must be shaped like ",
                      b_name, ", ", b.sym_sizes(), "; got ", a.sym_sizes());
    TORCH_CHECK_VALUE(a.device() == b.device(), a_name, " and ", b_name,
                      " must be on one device; got device ", a.device(), " and ", b.device());
  };
  like(q_grad, "q_grad", q, "q");
  like(k_grad, "k_grad", k, "k");
  like(prior, "prior", positions, "positions");
  TORCH_CHECK_TYPE(q_grad.scalar_type() == q.scalar_type() && k_grad.scalar_type() == q.scalar_type(),
                   "q_grad and k_grad must have the dtype of q; got dtype ", q_grad.scalar_type(), " and ",
                   k_grad.scalar_type());
  const int64_t slow = int64_t(theta.size()) - fast;
  const bool per_band = alpha && alpha->dim() == 2;
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
