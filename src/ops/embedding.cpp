#include "ops/embedding.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/machine.h"
#include "ops/once.h"

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Embedding : public torch::autograd::Function<Embedding> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& weight, const Tensor& tokens) {
    const at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({tokens});
    context->saved_data["vocabulary"] = weight.size(0);
    return at::embedding(weight, tokens);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("embed");
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor tokens = context->get_saved_variables()[0].reshape({-1, 1}),
                 grad = grads[0].reshape({-1, grads[0].size(-1)});
    const int64_t vocabulary = context->saved_data["vocabulary"].toInt();
    Tensor indicator = at::empty({tokens.size(0), vocabulary}, grad.options());
    at::eq_out(indicator, tokens, at::arange(vocabulary, tokens.options()));
    return {at::mm(indicator.t(), grad), Tensor()};
  }
};

}  // namespace

Tensor embed(const Tensor& weight, const Tensor& tokens) {
  return weight.is_cuda() && weight.size(0) <= kernels::machine::kSmallVocabulary
             ? Embedding::apply(weight, tokens)
             : at::embedding(weight, tokens);
}

}  // namespace darope
