#include "ops/rotate.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/plain.h"

// torch.ops.darope.rotate: schema in library.cpp, CUDA kernel in cuda.cpp, everything else here.
namespace darope::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::tuple<Tensor, Tensor> rotate_cpu(const Tensor& q, const Tensor& k, const Tensor& positions,
                                      at::ArrayRef<double> theta, double scale, bool half) {
  check_rotate(q, k, positions, theta);
  if (q.scalar_type() == at::kHalf) return plain::rotate(q, k, positions, theta, scale, half);
  return rotate_with<double, float, kernels::bfloat16>(run_cpu, q, k, positions, theta, scale, half);
}

std::tuple<Tensor, Tensor> rotate_plain(const Tensor& q, const Tensor& k, const Tensor& positions,
                                        at::ArrayRef<double> theta, double scale, bool half) {
  check_rotate(q, k, positions, theta);
  return plain::rotate(q, k, positions, theta, scale, half);
}

std::tuple<Tensor, Tensor> rotate_meta(const Tensor& q, const Tensor& k, const Tensor& positions,
                                       at::ArrayRef<double> theta, double, bool) {
  check_rotate(q, k, positions, theta);
  return {at::empty_symint(q.sym_sizes(), q.options()), at::empty_symint(k.sym_sizes(), k.options())};
}

// A rotation's gradient is the rotation by the opposite angle, so the backward pass is the operator again,
// and so on.
class Rotate : public torch::autograd::Function<Rotate> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& q, const Tensor& k,
                               const Tensor& positions, std::vector<double> theta, double scale, bool half) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [q_out, k_out] = rotate(q, k, positions, theta, scale, half);
    context->save_for_backward({positions});
    context->saved_data["theta"] = theta;
    context->saved_data["scale"] = scale;
    context->saved_data["half"] = half;
    return {q_out, k_out};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    std::vector<double> theta = context->saved_data["theta"].toDoubleVector();
    for (double& t : theta) t = -t;
    auto [dq, dk] = rotate(grads[0], grads[1], context->get_saved_variables()[0], theta,
                           context->saved_data["scale"].toDouble(), context->saved_data["half"].toBool());
    return {dq, dk, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

std::tuple<Tensor, Tensor> rotate_autograd(const Tensor& q, const Tensor& k, const Tensor& positions,
                                           at::ArrayRef<double> theta, double scale, bool half) {
  const variable_list out = Rotate::apply(q, k, positions, theta.vec(), scale, half);
  return {out[0], out[1]};
}

}  // namespace

std::tuple<Tensor, Tensor> rotate(const Tensor& q, const Tensor& k, const Tensor& positions,
                                  at::ArrayRef<double> theta, double scale, bool half) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("darope::rotate", "")
                             .typed<std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                               at::ArrayRef<double>, double, bool)>();
  return op.call(q, k, positions, theta, scale, half);
}

TORCH_LIBRARY_IMPL(darope, CPU, m) { m.impl("rotate", rotate_cpu); }
TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) { m.impl("rotate", rotate_plain); }
TORCH_LIBRARY_IMPL(darope, Meta, m) { m.impl("rotate", rotate_meta); }
TORCH_LIBRARY_IMPL(darope, Autograd, m) { m.impl("rotate", rotate_autograd); }

}  // namespace darope::ops
