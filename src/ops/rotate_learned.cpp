#include "ops/rotate_learned.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/plain.h"

// torch.ops.darope.rotate_learned and its gradient: schemas in library.cpp, the CPU's kernels in
// rotate_learned_cpu.cpp, CUDA's in cuda.cpp, everything else here.
namespace darope::ops {

Tensor fused_logit(const Tensor& x, const Tensor& w, const std::optional<Tensor>& shift) {
  const NoAutocast exact;
  Tensor logit;
  if (x.is_cuda() && x.scalar_type() != at::kFloat &&
      x.scalar_type() != at::kDouble)  // low-precision operands, float sums and result
    logit = at::mm(x.flatten(0, 1), w.to(x.scalar_type()).t(), at::kFloat)
                .view({x.size(0), x.size(1), w.size(0)});
  else
    logit = project(x, w);
  return (shift ? logit + *shift : logit).contiguous();
}

Tensor alpha_grad(const Tensor& dlogit, const Tensor& w, const std::optional<Tensor>& alpha,
                  const Tensor& prior) {
  if (!alpha) return at::empty({0}, w.options());
  const Tensor wide = dlogit.dim() == 4 ? prior.unsqueeze(-1).unsqueeze(-1) : prior.unsqueeze(-1);
  return (dlogit * wide).sum(at::IntArrayRef({0, 1})).to(alpha->scalar_type());
}

LearnedGrads from_logit_grad(const Tensor& dq, const Tensor& dk, const Tensor& dlogit, const Tensor& dalpha,
                             const Tensor& x, const Tensor& w) {
  const NoAutocast exact;
  const bool per_band = dlogit.dim() == 4;
  const Tensor shift = per_band ? dlogit.sum(-1) : dlogit;         // [B, T, Hk]
  const bool low = x.is_cuda() && x.scalar_type() != at::kDouble;  // let the tensor cores take x as it is
  const at::ScalarType type = low ? x.scalar_type() : shift.scalar_type();
  const Tensor rows = shift.flatten(0, 1).to(type), dx = at::mm(rows, w.to(type)),
               dw = at::mm(rows.t(), x.flatten(0, 1).to(type));
  return {dq,
          dk,
          dx.view(x.sizes()).to(x.scalar_type()),
          dw.to(w.scalar_type()),
          dalpha,
          per_band ? shift : shift.clone()};
}

LearnedOutputs learned_plain(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                             const std::optional<Tensor>& alpha, const std::optional<Tensor>& shift,
                             const Tensor& positions, at::ArrayRef<double> theta, int64_t fast, double length,
                             bool half) {
  check_rotate(q, k, positions, theta);
  check_learned(q, k, x, w, alpha, shift, fast, theta);
  return plain::rotate_learned(q, k, x, w, alpha, shift, positions, theta, fast, length, half);
}

LearnedGrads learned_backward_plain(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q,
                                    const Tensor& k, const Tensor& x, const Tensor& w,
                                    const std::optional<Tensor>& alpha, const Tensor& share,
                                    const Tensor& prior, const Tensor& positions, at::ArrayRef<double> theta,
                                    int64_t fast, double length, bool half) {
  check_learned_backward(q_grad, k_grad, q, k, x, w, alpha, share, prior, positions, theta, fast);
  const auto [dq, dk, dlogit] =
      plain::rotate_learned_backward(q_grad, k_grad, q, k, share, positions, theta, fast, length, half);
  return from_logit_grad(dq, dk, dlogit, alpha_grad(dlogit, w, alpha, prior), x, w);
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

LearnedOutputs learned_meta(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                            const Maybe& alpha, const Maybe& shift, const Tensor& positions,
                            at::ArrayRef<double> theta, int64_t fast, double, bool) {
  check_rotate(q, k, positions, theta);
  check_learned(q, k, x, w, alpha, shift, fast, theta);
  const auto options = q.options().dtype(compute_type(q.scalar_type()));
  std::vector<c10::SymInt> shape{k.sym_size(0), k.sym_size(1), k.sym_size(2)};
  if (alpha && alpha->dim() == 2) shape.push_back(int64_t(theta.size()) - fast);
  return {at::empty_symint(q.sym_sizes(), q.options()), at::empty_symint(k.sym_sizes(), k.options()),
          at::empty_symint(shape, options), at::empty_symint(positions.sym_sizes(), options)};
}

LearnedGrads backward_meta(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                           const Tensor& x, const Tensor& w, const Maybe& alpha, const Tensor& share,
                           const Tensor& prior, const Tensor& positions, at::ArrayRef<double> theta,
                           int64_t fast, double, bool) {
  check_learned_backward(q_grad, k_grad, q, k, x, w, alpha, share, prior, positions, theta, fast);
  const auto like = [](const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); };
  const Tensor dalpha = alpha ? like(*alpha) : at::empty({0}, w.options());
  return {like(q_grad),
          like(k_grad),
          like(x),
          like(w),
          dalpha,
          at::empty_symint({share.sym_size(0), share.sym_size(1), share.sym_size(2)}, share.options())};
}

using BackwardSignature = LearnedGrads(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                       const Tensor&, const Tensor&, const Maybe&, const Tensor&,
                                       const Tensor&, const Tensor&, at::ArrayRef<double>, int64_t, double,
                                       bool);

LearnedGrads backward_autograd(const Tensor& q_grad, const Tensor& k_grad, const Tensor& q, const Tensor& k,
                               const Tensor& x, const Tensor& w, const Maybe& alpha, const Tensor& share,
                               const Tensor& prior, const Tensor& positions, at::ArrayRef<double> theta,
                               int64_t fast, double length, bool half) {
  const bool asked = q_grad.requires_grad() || k_grad.requires_grad() || q.requires_grad() ||
                     k.requires_grad() || x.requires_grad() || w.requires_grad();
  TORCH_CHECK(!at::GradMode::is_enabled() || !asked,
              "rotate_learned has no second derivative; use torch.autograd.grad without create_graph");
  at::AutoDispatchBelowADInplaceOrView below;
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("darope::rotate_learned_backward", "")
                             .typed<BackwardSignature>();
  return op.call(q_grad, k_grad, q, k, x, w, alpha, share, prior, positions, theta, fast, length, half);
}

class RotateLearned : public torch::autograd::Function<RotateLearned> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& x,
                               const Tensor& w, const Maybe& alpha, const Maybe& shift,
                               const Tensor& positions, std::vector<double> theta, int64_t fast,
                               double length, bool half) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [q_out, k_out, share, prior] =
        rotate_learned(q, k, x, w, alpha, shift, positions, theta, fast, length, half);
    context->mark_non_differentiable({share, prior});
    context->set_materialize_grads(false);  // no zeros for what has no gradient
    context->save_for_backward({q, k, x, w, alpha.value_or(Tensor()), share, prior, positions});
    context->saved_data["theta"] = theta;
    context->saved_data["fast"] = fast;
    context->saved_data["length"] = length;
    context->saved_data["half"] = half;
    context->saved_data["shift"] = shift.has_value();
    return {q_out, k_out, share, prior};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Maybe alpha = saved[4].defined() ? Maybe(saved[4]) : std::nullopt;
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("darope::rotate_learned_backward", "")
                               .typed<BackwardSignature>();
    const auto gradient = [&](size_t i) { return grads[i].defined() ? grads[i] : at::zeros_like(saved[i]); };
    auto [dq, dk, dx, dw, dalpha, dshift] =
        op.call(gradient(0), gradient(1), saved[0], saved[1], saved[2], saved[3], alpha, saved[5], saved[6],
                saved[7], context->saved_data["theta"].toDoubleVector(), context->saved_data["fast"].toInt(),
                context->saved_data["length"].toDouble(), context->saved_data["half"].toBool());
    return {dq,
            dk,
            dx,
            dw,
            alpha ? dalpha : Tensor(),
            context->saved_data["shift"].toBool() ? dshift : Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor(),
            Tensor()};
  }
};

LearnedOutputs learned_autograd(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w,
                                const Maybe& alpha, const Maybe& shift, const Tensor& positions,
                                at::ArrayRef<double> theta, int64_t fast, double length, bool half) {
  const variable_list out =
      RotateLearned::apply(q, k, x, w, alpha, shift, positions, theta.vec(), fast, length, half);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace

Learned rotate_learned(const Tensor& q, const Tensor& k, const Tensor& x, const Tensor& w, const Maybe& alpha,
                       const Maybe& shift, const Tensor& positions, at::ArrayRef<double> theta, int64_t fast,
                       double length, bool half) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("darope::rotate_learned", "")
          .typed<LearnedOutputs(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Maybe&,
                                const Maybe&, const Tensor&, at::ArrayRef<double>, int64_t, double, bool)>();
  auto [q_out, k_out, share, prior] = op.call(q, k, x, w, alpha, shift, positions, theta, fast, length, half);
  return {q_out, k_out, share, prior};
}

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("rotate_learned", learned_plain);
  m.impl("rotate_learned_backward", learned_backward_plain);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("rotate_learned", learned_meta);
  m.impl("rotate_learned_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("rotate_learned", learned_autograd);
  m.impl("rotate_learned_backward", backward_autograd);
}

}  // namespace darope::ops
