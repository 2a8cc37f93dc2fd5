#include "ops/cope.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

// torch.ops.darope.cope_weights and its gradient: schemas in library.cpp, CUDA's rows in cuda.cpp, everything
// else here.
namespace darope::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// a [B, T, H, d] x b [B, S, H, d] -> [B, H, T, S] in the compute type: low-precision operands give float sums
// and results.
Tensor wide_product(const Tensor& a, const Tensor& b) {
  const int64_t batch = a.size(0), heads = a.size(2);
  const Tensor left = a.transpose(1, 2).reshape({batch * heads, a.size(1), a.size(3)}),
               right = b.transpose(1, 2).reshape({batch * heads, b.size(1), b.size(3)}).transpose(1, 2);
  const at::ScalarType type = compute_type(a.scalar_type());
  const Tensor out = a.is_cuda() && type != a.scalar_type() ? at::bmm(left, right, type)
                                                            : at::bmm(left.to(type), right.to(type));
  return out.view({batch, heads, a.size(1), b.size(1)});
}

// [B, T, H, d], with the tokens of a head side by side in memory, as batched products want them.
Tensor by_head(const Tensor& x) { return x.transpose(1, 2).contiguous().transpose(1, 2); }

// weights [B, H, T, S] x x [B, S, H, d] -> [B, T, H, d]
Tensor mixed(const Tensor& weights, const Tensor& x) { return at::einsum("bhts,bshd->bthd", {weights, x}); }

void check_cope(const Tensor& q, const Tensor& k, const Tensor& embedding) {
  TORCH_CHECK_VALUE(q.dim() == 4 && k.dim() == 4, "q and k must be [B, T, H, d]; got ", q.sym_sizes(),
                    " and ", k.sym_sizes());
  TORCH_CHECK_VALUE(
      q.sym_size(0) == k.sym_size(0) && q.sym_size(2) == k.sym_size(2) && q.sym_size(3) == k.sym_size(3),
      "q and k must have the same batch, heads and width; got ", q.sym_sizes(), " and ", k.sym_sizes());
  TORCH_CHECK_VALUE(q.sym_size(1) <= k.sym_size(1), "q holds the last of k's tokens; got ", q.sym_size(1),
                    " of ", k.sym_size(1));
  TORCH_CHECK_VALUE(
      embedding.dim() == 2 && embedding.sym_size(1) == q.sym_size(3) && embedding.sym_size(0) > 0,
      "embedding must be [P, d] with d = ", q.sym_size(3), "; got ", embedding.sym_sizes());
  TORCH_CHECK_TYPE(q.scalar_type() == k.scalar_type(), "q and k must have one dtype; got dtype ",
                   q.scalar_type(), " and ", k.scalar_type());
  TORCH_CHECK_VALUE(q.device() == k.device() && q.device() == embedding.device(),
                    "q, k and embedding must be on one device; got device ", q.device(), ", ", k.device(),
                    " and ", embedding.device());
}

// A sentence, not a crash, for who calls the gradient by hand.
void check_cope_backward(const Tensor& weights_grad, const Tensor& content, const Tensor& z,
                         const Tensor& norm, const Tensor& q, const Tensor& k, const Tensor& embedding) {
  check_cope(q, k, embedding);
  const c10::SymInt batch = q.sym_size(0), heads = q.sym_size(2), queries = q.sym_size(1);
  const auto check = [&](const Tensor& t, const char* name, std::vector<c10::SymInt> shape,
                         at::ScalarType type) {
    TORCH_CHECK_VALUE(t.sym_sizes() == c10::SymIntArrayRef(shape), name, " must be ",
                      c10::SymIntArrayRef(shape), "; got ", t.sym_sizes());
    TORCH_CHECK_TYPE(t.scalar_type() == type, name, " must be ", type, "; got dtype ", t.scalar_type());
    TORCH_CHECK_VALUE(t.device() == q.device(), name, " and q must be on one device; got device ", t.device(),
                      " and ", q.device());
  };
  const at::ScalarType wide = compute_type(q.scalar_type());
  check(weights_grad, "weights_grad", {batch, heads, queries, k.sym_size(1)}, q.scalar_type());
  check(content, "content", {batch, heads, queries, k.sym_size(1)}, wide);
  check(z, "z", {batch, heads, queries, embedding.sym_size(0)}, wide);
  check(norm, "norm", {batch, heads, queries}, wide);
}

// The composed rows, in the order of the paper's listing: for any device and dtype, and the kernels' oracle.
struct Plain {
  Tensor future, s, gate, count, low, high, weight, z_low, z_high;
  Plain(const Tensor& content, const Tensor& z, double scale) {
    const int64_t queries = content.size(2), keys = content.size(3);
    const auto integers = content.options().dtype(at::kLong);
    const double most = double(z.size(3) - 1);
    future = at::arange(keys, integers) > at::arange(keys - queries, keys, integers).unsqueeze(-1);
    s = content * scale;
    gate = s.sigmoid().masked_fill(future, 0);
    count = gate.flip(-1).cumsum(-1).flip(-1);
    const Tensor place = count.clamp_max(most), floor = place.floor();
    weight = place - floor;
    low = floor.nan_to_num(0).to(at::kLong), high = (low + 1).clamp_max(z.size(3) - 1);
    z_low = z.gather(-1, low), z_high = z.gather(-1, high);
  }
  Tensor logits() const {
    return (s + (1 - weight) * z_low + weight * z_high).masked_fill(future, -INFINITY);
  }
};

std::tuple<Tensor, Tensor> rows_plain(const Tensor& content, const Tensor& z, double scale,
                                      at::ScalarType type) {
  const Tensor logits = Plain(content, z, scale).logits();
  return {at::softmax(logits, -1).to(type), logits.logsumexp(-1)};
}

std::tuple<Tensor, Tensor> rows_backward_plain(const Tensor& weights_grad, const Tensor& content,
                                               const Tensor& z, const Tensor& norm, double scale) {
  const Plain p(content, z, scale);
  const Tensor weights = (p.logits() - norm.unsqueeze(-1)).exp(),
               grad = weights_grad.to(content.scalar_type());
  const Tensor dl = weights * (grad - (weights * grad).sum(-1, true));
  const Tensor dz =
      at::zeros_like(z).scatter_add(-1, p.low, (1 - p.weight) * dl).scatter_add(-1, p.high, p.weight * dl);
  const Tensor count_grad =
      (dl * (p.z_high - p.z_low)).masked_fill(p.count > double(z.size(3) - 1), 0).masked_fill(p.future, 0);
  return {((dl + count_grad.cumsum(-1) * p.gate * (1 - p.gate)) * scale).to(weights_grad.scalar_type()), dz};
}

// Rows side by side for the threads there are; each is computed alike whoever takes it.
template <class P>
void run_rows(const P& p) {
  const int64_t grain = std::max<int64_t>(1, 8192 / p.rows.keys);
  at::parallel_for(0, p.rows.count, grain,
                   [&](int64_t first, int64_t last) { kernels::cope_cpu(p, first, last); });
}
std::tuple<Tensor, Tensor> rows_cpu(const Tensor& content, const Tensor& z, double scale,
                                    at::ScalarType type) {
  if (type == at::kHalf) return rows_plain(content, z, scale, type);
  return cope_rows_with<double, float, kernels::bfloat16>([](const auto& p) { run_rows(p); }, content, z,
                                                          scale, type);
}
std::tuple<Tensor, Tensor> rows_backward_cpu(const Tensor& weights_grad, const Tensor& content,
                                             const Tensor& z, const Tensor& norm, double scale) {
  if (weights_grad.scalar_type() == at::kHalf)
    return rows_backward_plain(weights_grad, content, z, norm, scale);
  return cope_rows_backward_with<double, float, kernels::bfloat16>([](const auto& p) { run_rows(p); },
                                                                   weights_grad, content, z, norm, scale);
}

template <CopeRows rows>
CopeOutputs forward(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                    double position_scale) {
  return cope_around(rows, q, k, embedding, scale, position_scale);
}
template <CopeRowsBackward rows>
CopeGrads backward(const Tensor& weights_grad, const Tensor& content, const Tensor& z, const Tensor& norm,
                   const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                   double position_scale) {
  return cope_backward_around(rows, weights_grad, content, z, norm, q, k, embedding, scale, position_scale);
}

CopeOutputs forward_meta(const Tensor& q, const Tensor& k, const Tensor& embedding, double, double) {
  check_cope(q, k, embedding);
  const std::vector<c10::SymInt> shape{q.sym_size(0), q.sym_size(2), q.sym_size(1), k.sym_size(1)},
      places{q.sym_size(0), q.sym_size(2), q.sym_size(1), embedding.sym_size(0)};
  const auto wide = q.options().dtype(compute_type(q.scalar_type()));
  return {at::empty_symint(shape, q.options()), at::empty_symint(shape, wide), at::empty_symint(places, wide),
          at::empty_symint({q.sym_size(0), q.sym_size(2), q.sym_size(1)}, wide)};
}
CopeGrads backward_meta(const Tensor& weights_grad, const Tensor& content, const Tensor& z,
                        const Tensor& norm, const Tensor& q, const Tensor& k, const Tensor& embedding, double,
                        double) {
  check_cope_backward(weights_grad, content, z, norm, q, k, embedding);
  const auto like = [](const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); };
  return {like(q), like(k), like(embedding)};
}

using Signature = CopeOutputs(const Tensor&, const Tensor&, const Tensor&, double, double);
using BackwardSignature = CopeGrads(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                    const Tensor&, const Tensor&, double, double);

CopeOutputs call(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                 double position_scale) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow("darope::cope_weights", "").typed<Signature>();
  return op.call(q, k, embedding, scale, position_scale);
}

CopeGrads call_backward(const Tensor& weights_grad, const Tensor& content, const Tensor& z,
                        const Tensor& norm, const Tensor& q, const Tensor& k, const Tensor& embedding,
                        double scale, double position_scale) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("darope::cope_weights_backward", "")
                             .typed<BackwardSignature>();
  return op.call(weights_grad, content, z, norm, q, k, embedding, scale, position_scale);
}

class CopeWeights : public torch::autograd::Function<CopeWeights> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& q, const Tensor& k,
                               const Tensor& embedding, double scale, double position_scale) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto [weights, content, z, norm] = call(q, k, embedding, scale, position_scale);
    context->mark_non_differentiable({content, z, norm});
    context->set_materialize_grads(
        false);  // no zeros for what has no gradient: they are as large as the weights
    context->save_for_backward({content, z, norm, q, k, embedding});
    context->saved_data["scale"] = scale;
    context->saved_data["position_scale"] = position_scale;
    return {weights, content, z, norm};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    if (!grads[0].defined()) return variable_list(5);
    auto [dq, dk, dembedding] = call_backward(grads[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                                              saved[5], context->saved_data["scale"].toDouble(),
                                              context->saved_data["position_scale"].toDouble());
    return {dq, dk, dembedding, Tensor(), Tensor()};
  }
};

CopeOutputs autograd(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                     double position_scale) {
  check_cope(q, k, embedding);
  const variable_list out = CopeWeights::apply(by_head(q), by_head(k), embedding, scale,
                                               position_scale);  // once, for all products with them
  return {out[0], out[1], out[2], out[3]};
}

CopeGrads backward_autograd(const Tensor& weights_grad, const Tensor& content, const Tensor& z,
                            const Tensor& norm, const Tensor& q, const Tensor& k, const Tensor& embedding,
                            double scale, double position_scale) {
  const bool asked =
      weights_grad.requires_grad() || q.requires_grad() || k.requires_grad() || embedding.requires_grad();
  TORCH_CHECK(!at::GradMode::is_enabled() || !asked,
              "cope_weights has no second derivative; use torch.autograd.grad without create_graph");
  at::AutoDispatchBelowADInplaceOrView below;
  return call_backward(weights_grad, content, z, norm, q, k, embedding, scale, position_scale);
}

}  // namespace

CopeOutputs cope_around(CopeRows rows, const Tensor& q, const Tensor& k, const Tensor& embedding,
                        double scale, double position_scale) {
  check_cope(q, k, embedding);
  const NoAutocast exact;
  const Tensor content = wide_product(q, k), places = embedding.to(q.scalar_type())
                                                          .view({1, -1, 1, q.size(3)})
                                                          .expand({q.size(0), -1, q.size(2), -1});
  const Tensor z = wide_product(q, places).mul_(position_scale);
  const auto [weights, norm] = rows(content, z, scale, q.scalar_type());
  return {weights, content, z, norm};
}

CopeGrads cope_backward_around(CopeRowsBackward rows, const Tensor& weights_grad, const Tensor& content,
                               const Tensor& z, const Tensor& norm, const Tensor& q, const Tensor& k,
                               const Tensor& embedding, double scale, double position_scale) {
  check_cope_backward(weights_grad, content, z, norm, q, k, embedding);
  const NoAutocast exact;
  const auto [dcontent, dz_wide] =
      rows(weights_grad.contiguous(), content.contiguous(), z.contiguous(), norm.contiguous(), scale);
  const at::ScalarType type =
      q.is_cuda() ? q.scalar_type()
                  : compute_type(q.scalar_type());  // let the tensor cores take them as they are
  const Tensor ds = dcontent.to(type), dz = dz_wide.mul(position_scale).to(type), keys = k.to(type),
               queries = q.to(type);
  const Tensor dq = mixed(ds, keys) + at::einsum("bhtp,pd->bthd", {dz, embedding.to(type)});
  const Tensor dk = mixed(ds.transpose(2, 3), queries),
               dembedding = at::einsum("bhtp,bthd->pd", {dz, queries});
  return {dq.to(q.scalar_type()).contiguous(), dk.to(k.scalar_type()).contiguous(),
          dembedding.to(embedding.scalar_type()).contiguous()};
}

Tensor cope_weights(const Tensor& q, const Tensor& k, const Tensor& embedding, double scale,
                    double position_scale) {
  return std::get<0>(call(q, k, embedding, scale, position_scale));
}

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("cope_weights", forward<rows_plain>);
  m.impl("cope_weights_backward", backward<rows_backward_plain>);
}
TORCH_LIBRARY_IMPL(darope, CPU, m) {
  m.impl("cope_weights", forward<rows_cpu>);
  m.impl("cope_weights_backward", backward<rows_backward_cpu>);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("cope_weights", forward_meta);
  m.impl("cope_weights_backward", backward_meta);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("cope_weights", autograd);
  m.impl("cope_weights_backward", backward_autograd);
}

}  // namespace darope::ops
