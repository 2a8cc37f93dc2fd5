#include "ops/polar.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softplus.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

// torch.ops.darope.polar and its gradient: schemas in library.cpp, CUDA's kernels in cuda.cpp, everything
// else here.
namespace darope::ops {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Maybe = std::optional<Tensor>;

void check_polar(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
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

void check_polar_backward(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                          const Maybe& delta) {
  check_polar(x, positions, base, delta);
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
std::pair<Tensor, Tensor> phases(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
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

Tensor polar_plain(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
  check_polar(x, positions, base, delta);
  const auto [cosine, sine] = phases(x, positions, base, delta);
  const Tensor magnitude = at::softplus(x.to(cosine.scalar_type()), 1, 50);
  return at::cat({magnitude * cosine, magnitude * sine}, -1).to(x.scalar_type()).contiguous();
}

PolarGrads polar_backward_plain(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                                const Maybe& delta) {
  check_polar_backward(grad, x, positions, base, delta);
  const auto [cosine, sine] = phases(x, positions, base, delta);
  const Tensor wide = x.to(cosine.scalar_type());
  const std::vector<Tensor> g = grad.to(cosine.scalar_type()).chunk(2, -1);
  const Tensor dx = (at::sigmoid(wide) * (g[0] * cosine + g[1] * sine)).to(x.scalar_type()).contiguous();
  if (!delta) return {dx, at::empty({0}, x.options())};
  const Tensor turned = at::softplus(wide, 1, 50) * (g[1] * cosine - g[0] * sine);
  return {dx, turned.sum(at::IntArrayRef({0, 1})).to(delta->scalar_type())};
}

namespace {

Tensor meta(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
  check_polar(x, positions, base, delta);
  return at::empty_symint({x.sym_size(0), x.sym_size(1), x.sym_size(2), 2 * x.sym_size(3)}, x.options());
}
PolarGrads meta_backward(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                         const Maybe& delta) {
  check_polar_backward(grad, x, positions, base, delta);
  return {at::empty_symint(x.sym_sizes(), x.options()),
          delta ? at::empty_symint(delta->sym_sizes(), delta->options()) : at::empty({0}, x.options())};
}

Tensor call(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("darope::polar", "")
                             .typed<Tensor(const Tensor&, const Tensor&, double, const Maybe&)>();
  return op.call(x, positions, base, delta);
}
PolarGrads call_backward(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                         const Maybe& delta) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("darope::polar_backward", "")
          .typed<PolarGrads(const Tensor&, const Tensor&, const Tensor&, double, const Maybe&)>();
  return op.call(grad, x, positions, base, delta);
}

class PolarNode : public torch::autograd::Function<PolarNode> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& positions, double base,
                        const Maybe& delta) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, positions, delta.value_or(Tensor())});
    context->saved_data["base"] = base;
    return call(x, positions, base, delta);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Maybe delta = saved[2].defined() ? Maybe(saved[2]) : std::nullopt;
    const auto [dx, ddelta] =
        call_backward(grads[0], saved[0], saved[1], context->saved_data["base"].toDouble(), delta);
    return {dx, Tensor(), Tensor(), delta ? ddelta : Tensor()};
  }
};

Tensor autograd(const Tensor& x, const Tensor& positions, double base, const Maybe& delta) {
  return PolarNode::apply(x, positions, base, delta);
}
PolarGrads autograd_backward(const Tensor& grad, const Tensor& x, const Tensor& positions, double base,
                             const Maybe& delta) {
  const bool asked = grad.requires_grad() || x.requires_grad() || (delta && delta->requires_grad());
  TORCH_CHECK(!at::GradMode::is_enabled() || !asked,
              "polar has no second derivative; use torch.autograd.grad without create_graph");
  at::AutoDispatchBelowADInplaceOrView below;
  return call_backward(grad, x, positions, base, delta);
}

}  // namespace

Tensor polar(const Tensor& x, const Tensor& positions, double base, const std::optional<Tensor>& delta) {
  return x.is_cuda() ? call(x, positions, base, delta) : polar_plain(x, positions, base, delta);
}

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("polar", polar_plain);
  m.impl("polar_backward", polar_backward_plain);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("polar", meta);
  m.impl("polar_backward", meta_backward);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("polar", autograd);
  m.impl("polar_backward", autograd_backward);
}

}  // namespace darope::ops
