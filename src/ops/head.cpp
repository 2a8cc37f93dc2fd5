#include "ops/head.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/machine.h"
#include "ops/model_cuda.h"
#include "ops/nll.h"
#include "ops/once.h"
#include "ops/products.h"

namespace darope {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType at_least_float(const Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

bool fits_in_one(const Tensor& hidden, const Tensor& head, int64_t at_once) {
  return hidden.size(0) * head.size(0) * hidden.element_size() <= at_once;
}

// Calls use(first, count) for chunks of rows of nearly the same size, a multiple of what products are cut
// into.
template <class Use>
void in_chunks(const Tensor& hidden, const Tensor& head, int64_t at_once, const Use& use) {
  constexpr int64_t kTile = kernels::machine::kProductRows;
  const int64_t rows = hidden.size(0),
                most = std::max<int64_t>(kTile, at_once / (head.size(0) * hidden.element_size()));
  const int64_t chunks = (rows + most - 1) / most;
  if (chunks == 0) return;
  const int64_t each = ((rows + chunks - 1) / chunks + kTile - 1) / kTile * kTile;
  for (int64_t first = 0; first < rows; first += each) use(first, std::min(each, rows - first));
}

// The rows' losses into nll; the logits become the gradient of their sum by share.
void nll_and_gradient(const Tensor& logits, const Tensor& targets, const Tensor& share, const Tensor& nll) {
  if (softmax_nll_fits_on_cuda(logits)) return softmax_nll_on_cuda(logits, targets, share, nll);
  Tensor log_shares = at::log_softmax(logits.to(at_least_float(logits)), 1);
  const Tensor index = targets.unsqueeze(1), at_target = log_shares.gather(1, index);
  nll.copy_(-at_target.squeeze(1));
  log_shares.exp_().scatter_(1, index, at_target.exp() - 1);
  logits.copy_(log_shares.mul_(share.unsqueeze(1)));
}

// sum += a b, where the sum has more digits than what it is made of
void add_product(Tensor& sum, const Tensor& a, const Tensor& b) {
  if (sum.scalar_type() == a.scalar_type())
    sum.addmm_(a, b);
  else if (a.is_cuda())
    at::addmm_out(sum, sum, a, b, sum.scalar_type());
  else
    sum.add_(at::mm(a.to(sum.scalar_type()), b.to(sum.scalar_type())));
}

class HeadLoss : public torch::autograd::Function<HeadLoss> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& hidden, const Tensor& head,
                        const Tensor& targets, const Tensor& share, int64_t at_once) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const at::TensorOptions sums = hidden.options().dtype(at_least_float(hidden));
    const Tensor nll = at::empty({hidden.size(0)}, sums), hidden_grad = at::empty_like(hidden);
    Tensor head_grad = at::zeros(head.sizes(), sums);
    in_chunks(hidden, head, at_once, [&](int64_t first, int64_t count) {
      const auto part = [&](const Tensor& x) { return x.narrow(0, first, count); };
      const Tensor logits = at::mm(part(hidden), head.t());
      nll_and_gradient(logits, part(targets), part(share), part(nll));
      Tensor rows = part(hidden_grad);
      at::mm_out(rows, logits, head);
      add_product(head_grad, logits.t(), part(hidden));
    });
    context->save_for_backward({hidden_grad, head_grad.to(head.scalar_type())});
    return at::dot(nll, share);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("head_loss");
    const at::AutoDispatchBelowADInplaceOrView below;
    const variable_list saved = context->get_saved_variables();
    return {saved[0] * grads[0], saved[1] * grads[0], Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor head_loss(const Tensor& hidden, const Tensor& head, const Tensor& targets, const Tensor& share,
                 int64_t at_once) {
  if (hidden.is_cpu() && fits_in_one(hidden, head, at_once))
    return summed_nll(product(hidden, head).to(at_least_float(hidden)), targets, share);
  return HeadLoss::apply(hidden.contiguous(), head, targets.contiguous(), share.to(at_least_float(hidden)),
                         at_once);
}

Tensor head_nll(const Tensor& hidden, const Tensor& head, const Tensor& targets, int64_t at_once) {
  std::vector<Tensor> parts;
  in_chunks(hidden, head, at_once, [&](int64_t first, int64_t count) {
    const Tensor logits = product(hidden.narrow(0, first, count), head).to(at_least_float(hidden));
    parts.push_back(at::cross_entropy_loss(logits, targets.narrow(0, first, count), {}, at::Reduction::None));
  });
  return parts.empty() ? at::empty({0}, hidden.options().dtype(at_least_float(hidden))) : at::cat(parts);
}

}  // namespace darope
