#include "ops/rotate.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/launch.h"
#include "ops/operator.h"
#include "ops/plain.h"

// torch.ops.darope.rotate: schema in library.cpp, CUDA kernel in cuda.cpp, everything else here.
namespace darope::ops {
namespace {

using Op = Operator<Rotate>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Rotate::Result rotate_plain(const Rotate& a) {
  check(a);
  return plain::rotate(a);
}

Rotate::Result rotate_cpu(const Rotate& a) {
  check(a);
  if (a.q.scalar_type() == at::kHalf || is_empty(a)) return plain::rotate(a);
  return rotate_with<double, float, kernels::bfloat16>(run_cpu, a);
}

Rotate::Result rotate_meta(const Rotate& a) {
  check(a);
  return {at::empty_symint(a.q.sym_sizes(), a.q.options()), at::empty_symint(a.k.sym_sizes(), a.k.options())};
}

// A rotation's gradient is the rotation by the opposite angle, so the backward pass is the operator again,
// and so on.
class Node : public torch::autograd::Function<Node> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& /*q*/, const Tensor& /*k*/,
                               const Rotate& a) {
    at::AutoDispatchBelowADInplaceOrView below;
    auto [q_out, k_out] = rotate(a);
    context->save_for_backward({a.positions});
    context->saved_data["theta"] = a.theta.vec();
    context->saved_data["scale"] = a.scale;
    context->saved_data["half"] = a.half;
    return {q_out, k_out};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    std::vector<double> theta = context->saved_data["theta"].toDoubleVector();
    for (double& t : theta) t = -t;
    auto [dq, dk] = rotate({grads[0], grads[1], context->get_saved_variables()[0], theta,
                            context->saved_data["scale"].toDouble(), context->saved_data["half"].toBool()});
    return {dq, dk, Tensor()};
  }
};

Rotate::Result rotate_autograd(const Rotate& a) {
  const variable_list out = Node::apply(a.q, a.k, a);
  return {out[0], out[1]};
}

}  // namespace

Rotate::Result rotate(const Rotate& a) { return Op::call(a); }

TORCH_LIBRARY_IMPL(darope, CPU, m) { m.impl("rotate", Op::kernel<rotate_cpu>); }
TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) { m.impl("rotate", Op::kernel<rotate_plain>); }
TORCH_LIBRARY_IMPL(darope, Meta, m) { m.impl("rotate", Op::kernel<rotate_meta>); }
TORCH_LIBRARY_IMPL(darope, Autograd, m) { m.impl("rotate", Op::kernel<rotate_autograd>); }

}  // namespace darope::ops
