#include "ops/attention.h"

#include <ATen/Parallel.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/attention.h"
#include "ops/launch.h"
#include "ops/once.h"

namespace darope {
namespace {

using ops::contiguous_like, ops::heads, ops::readable;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class P>
void run(const P& p, int64_t batch) {
  const int64_t grain =
      std::max<int64_t>(1, kernels::machine::kScoreSumsPerThread /
                               (p.tokens * p.tokens * p.width));  // heads that outweigh starting a thread
  at::parallel_for(0, batch * p.heads, grain,
                   [&](int64_t first, int64_t last) { kernels::attend_cpu(p, first, last); });
}

class ShortAttention : public torch::autograd::Function<ShortAttention> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                        double scale) {
    const Tensor q = readable(q_in), k = readable(k_in), v = readable(v_in), out = contiguous_like(q);
    const int64_t tokens = q.size(1);
    const Tensor shares = at::empty({q.size(0), q.size(2), tokens, kernels::share_row(tokens)}, q.options());
    ops::with_type<double, float>(q.scalar_type(), [&](auto type) {
      using T = decltype(type);
      run(kernels::Attention<T>{tokens, q.size(2), q.size(3), T(scale), heads<const T>(q), heads<const T>(k),
                                heads<const T>(v), heads<T>(out), ops::data<T>(shares)},
          q.size(0));
    });
    context->save_for_backward({q, k, v, shares});
    context->saved_data["scale"] = scale;
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    ops::differentiable_once("short attention");
    const variable_list saved = context->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &shares = saved[3], up = readable(grads[0]);
    const Tensor dq = contiguous_like(q), dk = contiguous_like(k), dv = contiguous_like(v);
    ops::with_type<double, float>(q.scalar_type(), [&](auto type) {
      using T = decltype(type);
      run(kernels::AttentionBackward<T>{q.size(1), q.size(2), q.size(3),
                                        T(context->saved_data["scale"].toDouble()), heads<const T>(q),
                                        heads<const T>(k), heads<const T>(v), heads<const T>(up),
                                        heads<T>(dq), heads<T>(dk), heads<T>(dv), ops::data<T>(shares)},
          q.size(0));
    });
    return {dq, dk, dv, Tensor()};
  }
};

}  // namespace

int64_t longest_short() { return kernels::kMaxTokens; }

bool is_short(const Tensor& q, const Tensor& k, const Tensor& v) {
  if (at::areAnyTensorSubclassLike({q, k, v})) return false;  // a compiler's tensors hold no numbers
  for (const Tensor& each : {q, k, v})
    if (!each.is_cpu() || each.is_neg()) return false;  // what a view owes is the library's business
  const bool number = q.scalar_type() == at::kFloat || q.scalar_type() == at::kDouble;
  const bool alike = k.sizes() == q.sizes() && v.sizes() == q.sizes() && k.scalar_type() == q.scalar_type() &&
                     v.scalar_type() == q.scalar_type();
  return number && alike && q.numel() > 0 && q.size(1) <= kernels::kMaxTokens &&
         q.size(3) <= kernels::kMaxWidth && q.size(3) % kernels::kShareLanes == 0;
}

Tensor short_attention(const Tensor& q, const Tensor& k, const Tensor& v, double scale) {
  return ShortAttention::apply(q, k, v, scale);
}

}  // namespace darope
