#include "model/recompute.h"

#include <ATen/Context.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

Tensor random_state(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}
void set_random_state(at::Device device, const Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_state(state);
}

struct Held : torch::CustomClassHolder {
  explicit Held(Recomputable given) : part(std::move(given)) {}
  Recomputable part;
};

class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x, const Tensor& normed,
                               const Recomputable& part, bool random) {
    context->save_for_backward({x, normed});
    context->saved_data["state"] = random ? random_state(x.device()) : Tensor();
    context->set_materialize_grads(false);  // what nobody uses has no gradient, as without recomputation
    context->saved_data["part"] = c10::IValue::make_capsule(c10::make_intrusive<Held>(part));
    return part(x, normed);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const Tensor x = saved[0].detach().requires_grad_(), normed = saved[1].detach().requires_grad_(),
                 state = context->saved_data["state"].toTensor();
    const Tensor now = state.defined() ? random_state(x.device()) : Tensor();
    if (state.defined()) set_random_state(x.device(), state);
    variable_list out, upstream;
    {
      const at::AutoGradMode on(true);
      const auto held = context->saved_data["part"].toCapsule();
      const variable_list made = static_cast<const Held&>(*held).part(x, normed);
      for (size_t i = 0; i < made.size(); ++i)
        if (grads[i].defined()) out.push_back(made[i]), upstream.push_back(grads[i]);
    }
    if (state.defined()) set_random_state(x.device(), now);
    torch::autograd::backward(out, upstream);
    return {x.grad(), normed.grad(), Tensor(), Tensor()};
  }
};

}  // namespace

std::vector<Tensor> recomputed(const Recomputable& part, const Tensor& x, const Tensor& normed, bool random) {
  return Recomputed::apply(x, normed, part, random);
}

}  // namespace darope
