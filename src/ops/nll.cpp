#include "ops/nll.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/nll.h"
#include "ops/launch.h"
#include "ops/once.h"

namespace darope {
namespace {

using ops::data;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class P>
void run(const P& p, int64_t rows) {
  at::parallel_for(0, rows, 1 + kernels::machine::kElementsPerThread / p.width,
                   [&](int64_t first, int64_t last) { kernels::nll_cpu(p, first, last); });
}

void check(const Tensor& targets, int64_t width) {
  const int64_t* const each = targets.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < targets.numel(); ++i)
    TORCH_CHECK_INDEX(each[i] >= 0 && each[i] < width, "target ", each[i], " of ", width, " tokens");
}

class SummedNll : public torch::autograd::Function<SummedNll> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& logits_in, const Tensor& targets_in,
                        const Tensor& share) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const Tensor logits = logits_in.contiguous(), targets = targets_in.contiguous();
    const int64_t rows = logits.size(0), width = logits.size(1);
    check(targets, width);
    const Tensor nll = at::empty({rows}, logits.options()), exponentials = at::empty_like(logits),
                 sums = at::empty_like(nll);
    ops::with_type<double, float>(logits.scalar_type(), [&](auto t) {
      using T = decltype(t);
      run(kernels::Nll<T>{width, data<T>(logits), data<int64_t>(targets), data<T>(nll), data<T>(exponentials),
                          data<T>(sums)},
          rows);
    });
    context->save_for_backward({exponentials, sums, targets, share});
    return at::dot(nll, share);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("summed_nll");
    const at::AutoDispatchBelowADInplaceOrView below;
    const variable_list saved = context->get_saved_variables();
    const Tensor &exponentials = saved[0], &sums = saved[1], &targets = saved[2],
                 nll_grad = saved[3] * grads[0], grad = at::empty_like(exponentials);
    ops::with_type<double, float>(exponentials.scalar_type(), [&](auto t) {
      using T = decltype(t);
      run(kernels::NllBackward<T>{exponentials.size(1), data<T>(exponentials), data<T>(sums),
                                  data<int64_t>(targets), data<T>(nll_grad), data<T>(grad)},
          exponentials.size(0));
    });
    return {grad, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor summed_nll(const Tensor& logits, const Tensor& targets, const Tensor& share) {
  if (logits.is_cpu() && (logits.scalar_type() == at::kFloat || logits.scalar_type() == at::kDouble))
    return SummedNll::apply(logits, targets, share.to(logits.scalar_type()));
  return (at::cross_entropy_loss(logits, targets, {}, at::Reduction::None) * share).sum();
}

}  // namespace darope
