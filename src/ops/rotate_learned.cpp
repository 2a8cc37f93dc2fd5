#include "ops/rotate_learned.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/once.h"
#include "ops/operator.h"
#include "ops/plain.h"

// torch.ops.darope.rotate_learned and its gradient: schemas in library.cpp, the CPU's kernels in
// rotate_learned_cpu.cpp, CUDA's in cuda.cpp, everything else here.
namespace darope::ops {

Tensor fused_logit(const RotateLearned& a) {
  const NoAutocast exact;
  const Tensor &x = a.x, &w = a.w;
  Tensor logit;
  if (x.is_cuda() && x.scalar_type() != at::kFloat &&
      x.scalar_type() != at::kDouble)  // low-precision operands, float sums and result
    logit = at::mm(x.flatten(0, 1), w.to(x.scalar_type()).t(), at::kFloat)
                .view({x.size(0), x.size(1), w.size(0)});
  else
    logit = project(x, w);
  return (a.shift ? logit + *a.shift : logit).contiguous();
}

Tensor alpha_grad(const RotateLearnedBackward& a, const Tensor& dlogit) {
  if (!a.alpha) return at::empty({0}, a.w.options());
  const Tensor wide = dlogit.dim() == 4 ? a.prior.unsqueeze(-1).unsqueeze(-1) : a.prior.unsqueeze(-1);
  return (dlogit * wide).sum(at::IntArrayRef({0, 1})).to(a.alpha->scalar_type());
}

RotateLearnedBackward::Result from_logit_grad(const RotateLearnedBackward& a, const Tensor& dq,
                                              const Tensor& dk, const Tensor& dlogit, const Tensor& dalpha) {
  const NoAutocast exact;
  const Tensor &x = a.x, &w = a.w;
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

RotateLearned::Result learned_plain(const RotateLearned& a) {
  check(a);
  return plain::rotate_learned(a);
}

RotateLearnedBackward::Result learned_backward_plain(const RotateLearnedBackward& a) {
  check(a);
  const auto [dq, dk, dlogit] = plain::rotate_learned_backward(a);
  return from_logit_grad(a, dq, dk, dlogit, alpha_grad(a, dlogit));
}

namespace {

using Op = Operator<RotateLearned>;
using Backward = Operator<RotateLearnedBackward>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

RotateLearned::Result learned_meta(const RotateLearned& a) {
  check(a);
  const Tensor &q = a.q, &k = a.k;
  const auto options = q.options().dtype(compute_type(q.scalar_type()));
  std::vector<c10::SymInt> shape{k.sym_size(0), k.sym_size(1), k.sym_size(2)};
  if (a.alpha && a.alpha->dim() == 2) shape.push_back(int64_t(a.theta.size()) - a.fast);
  return {at::empty_symint(q.sym_sizes(), q.options()), at::empty_symint(k.sym_sizes(), k.options()),
          at::empty_symint(shape, options), at::empty_symint(a.positions.sym_sizes(), options)};
}

RotateLearnedBackward::Result backward_meta(const RotateLearnedBackward& a) {
  check(a);
  const Tensor& share = a.share;
  const auto like = [](const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); };
  return {like(a.q_grad),
          like(a.k_grad),
          like(a.x),
          like(a.w),
          a.alpha ? like(*a.alpha) : at::empty({0}, a.w.options()),
          at::empty_symint({share.sym_size(0), share.sym_size(1), share.sym_size(2)}, share.options())};
}

RotateLearnedBackward::Result backward_autograd(const RotateLearnedBackward& a) {
  differentiable_once("rotate_learned", a.q_grad.requires_grad() || a.k_grad.requires_grad() ||
                                            a.q.requires_grad() || a.k.requires_grad() ||
                                            a.x.requires_grad() || a.w.requires_grad());
  at::AutoDispatchBelowADInplaceOrView below;
  return Backward::call(a);
}

class Node : public torch::autograd::Function<Node> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& /*q*/, const Tensor& /*k*/,
                               const Tensor& /*x*/, const Tensor& /*w*/, const Maybe& /*alpha*/,
                               const Maybe& /*shift*/, const RotateLearned& a) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [q_out, k_out, share, prior] = rotate_learned(a);
    context->mark_non_differentiable({share, prior});
    context->set_materialize_grads(false);  // no zeros for what has no gradient
    context->save_for_backward({a.q, a.k, a.x, a.w, a.alpha.value_or(Tensor()), share, prior, a.positions});
    context->saved_data["theta"] = a.theta.vec();
    context->saved_data["fast"] = a.fast;
    context->saved_data["length"] = a.length;
    context->saved_data["half"] = a.half;
    context->saved_data["shift"] = a.shift.has_value();
    return {q_out, k_out, share, prior};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    auto& constants = context->saved_data;
    const Maybe alpha = saved[4].defined() ? Maybe(saved[4]) : std::nullopt;
    const std::vector<double> theta = constants["theta"].toDoubleVector();
    const auto gradient = [&](size_t i) { return grads[i].defined() ? grads[i] : at::zeros_like(saved[i]); };
    auto [dq, dk, dx, dw, dalpha, dshift] =
        Backward::call({gradient(0), gradient(1), saved[0], saved[1], saved[2], saved[3], alpha, saved[5],
                        saved[6], saved[7], theta, constants["fast"].toInt(), constants["length"].toDouble(),
                        constants["half"].toBool()});
    return {dq,      dk, dx, dw, alpha ? dalpha : Tensor(), constants["shift"].toBool() ? dshift : Tensor(),
            Tensor()};
  }
};

RotateLearned::Result learned_autograd(const RotateLearned& a) {
  const variable_list out = Node::apply(a.q, a.k, a.x, a.w, a.alpha, a.shift, a);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace

RotateLearned::Result rotate_learned(const RotateLearned& a) { return Op::call(a); }

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("rotate_learned", Op::kernel<learned_plain>);
  m.impl("rotate_learned_backward", Backward::kernel<learned_backward_plain>);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("rotate_learned", Op::kernel<learned_meta>);
  m.impl("rotate_learned_backward", Backward::kernel<backward_meta>);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("rotate_learned", Op::kernel<learned_autograd>);
  m.impl("rotate_learned_backward", Backward::kernel<backward_autograd>);
}

}  // namespace darope::ops
