#include "ops/polar.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/once.h"
#include "ops/operator.h"

// torch.ops.darope.polar and its gradient: schemas in library.cpp, CUDA's kernels in cuda.cpp, everything
// else here.
namespace darope::ops {

void check(const Polar& a) {
  const auto& [x, positions, base, delta] = a;
  TORCH_CHECK_VALUE(x.dim() == 4, "x must be [B, T, H, d]; got ", x.dim(), " dimensions");
  TORCH_CHECK_TYPE(at::isFloatingType(x.scalar_type()), "x must be floating point; got dtype ",
                   x.scalar_type());
  TORCH_CHECK_VALUE(base > 0, "base must be positive; got ", base);
  TORCH_CHECK_TYPE(positions.scalar_type() == at::kDouble,
                   "positions must come as dtype float64 here; got dtype ", positions.scalar_type());
  TORCH_CHECK_VALUE((positions.dim() == 1 && positions.sym_size(0) == x.sym_size(1)) ||
                        (positions.dim() == 2 && positions.sym_size(0) == x.sym_size(0) &&
                         positions.sym_size(1) == x.sym_size(1)),
                    "positions must be [T] or [B, T] with B, T = ", x.sym_size(0), ", ", x.sym_size(1),
                    "; got ", positions.sym_sizes());
  TORCH_CHECK_VALUE(positions.device() == x.device(), "positions and x must be on one device; got device ",
                    positions.device(), " and ", x.device());
  if (!delta) return;
  TORCH_CHECK_VALUE(
      delta->dim() == 2 && delta->sym_size(0) == x.sym_size(2) && delta->sym_size(1) == x.sym_size(3),
      "delta must be [", x.sym_size(2), ", ", x.sym_size(3), "]; got ", delta->sym_sizes());
  TORCH_CHECK_VALUE(delta->device() == x.device(), "delta and x must be on one device; got device ",
                    delta->device(), " and ", x.device());
}

void check(const PolarBackward& a) {
  check(a.forward());
  const Tensor &grad = a.grad, &x = a.x;
  const std::vector<c10::SymInt> shape{x.sym_size(0), x.sym_size(1), x.sym_size(2), 2 * x.sym_size(3)};
  TORCH_CHECK_VALUE(grad.sym_sizes() == c10::SymIntArrayRef(shape) && grad.device() == x.device(),
                    "grad must be ", c10::SymIntArrayRef(shape), " on ", x.device(), "; got ",
                    grad.sym_sizes(), " on ", grad.device());
  TORCH_CHECK_TYPE(grad.scalar_type() == x.scalar_type(), "grad and x must have one dtype; got dtype ",
                   grad.scalar_type(), " and ", x.scalar_type());
}

namespace {

// Cosine and sine of every channel's angle, in the compute type. By the addition theorem: the large angle
// never meets the learned one in low precision.
std::pair<Tensor, Tensor> phases(const Polar& a) {
  const auto& [x, positions, base, delta] = a;
  const at::ScalarType type = compute_type(x.scalar_type());
  const Tensor theta =
      at::pow(base, at::arange(at::Scalar(x.sym_size(3)), positions.options()) / -double(x.size(3)));
  const Tensor angle = positions.unsqueeze(-1).unsqueeze(-1) * theta, cosine = angle.cos().to(type),
               sine = angle.sin().to(type);
  if (!delta) return {cosine, sine};
  const Tensor turn = delta->to(type);
  return {cosine * turn.cos() - sine * turn.sin(), sine * turn.cos() + cosine * turn.sin()};
}

}  // namespace

Tensor polar_plain(const Polar& a) {
  check(a);
  const auto [cosine, sine] = phases(a);
  const Tensor magnitude = at::softplus(a.x.to(cosine.scalar_type()), 1, 50);
  return at::cat({magnitude * cosine, magnitude * sine}, -1).to(a.x.scalar_type()).contiguous();
}

PolarBackward::Result polar_backward_plain(const PolarBackward& a) {
  check(a);
  const Tensor& x = a.x;
  const auto [cosine, sine] = phases(a.forward());
  const Tensor wide = x.to(cosine.scalar_type());
  const std::vector<Tensor> g = a.grad.to(cosine.scalar_type()).chunk(2, -1);
  const Tensor dx = (at::sigmoid(wide) * (g[0] * cosine + g[1] * sine)).to(x.scalar_type()).contiguous();
  if (!a.delta) return {dx, at::empty({0}, x.options())};
  const Tensor turned = at::softplus(wide, 1, 50) * (g[1] * cosine - g[0] * sine);
  return {dx, turned.sum(at::IntArrayRef({0, 1})).to(a.delta->scalar_type())};
}

namespace {

using Op = Operator<Polar>;
using Backward = Operator<PolarBackward>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor meta(const Polar& a) {
  check(a);
  const Tensor& x = a.x;
  return at::empty_symint({x.sym_size(0), x.sym_size(1), x.sym_size(2), 2 * x.sym_size(3)}, x.options());
}
PolarBackward::Result meta_backward(const PolarBackward& a) {
  check(a);
  return {
      at::empty_symint(a.x.sym_sizes(), a.x.options()),
      a.delta ? at::empty_symint(a.delta->sym_sizes(), a.delta->options()) : at::empty({0}, a.x.options())};
}

class Node : public torch::autograd::Function<Node> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& /*x*/, const Maybe& /*delta*/,
                        const Polar& a) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({a.x, a.positions, a.delta.value_or(Tensor())});
    context->saved_data["base"] = a.base;
    return Op::call(a);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Maybe delta = saved[2].defined() ? Maybe(saved[2]) : std::nullopt;
    const auto [dx, ddelta] =
        Backward::call({grads[0], saved[0], saved[1], context->saved_data["base"].toDouble(), delta});
    return {dx, delta ? ddelta : Tensor(), Tensor()};
  }
};

Tensor autograd(const Polar& a) { return Node::apply(a.x, a.delta, a); }
PolarBackward::Result autograd_backward(const PolarBackward& a) {
  differentiable_once("polar",
                      a.grad.requires_grad() || a.x.requires_grad() || (a.delta && a.delta->requires_grad()));
  at::AutoDispatchBelowADInplaceOrView below;
  return Backward::call(a);
}

}  // namespace

Tensor polar(const Polar& a) { return a.x.is_cuda() ? Op::call(a) : polar_plain(a); }

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("polar", Op::kernel<polar_plain>);
  m.impl("polar_backward", Backward::kernel<polar_backward_plain>);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("polar", Op::kernel<meta>);
  m.impl("polar_backward", Backward::kernel<meta_backward>);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("polar", Op::kernel<autograd>);
  m.impl("polar_backward", Backward::kernel<autograd_backward>);
}

}  // namespace darope::ops
