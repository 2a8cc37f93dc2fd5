#include "ops/cope.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "ops/once.h"
#include "ops/operator.h"

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

void check(const CopeWeights& a) {
  const Tensor &q = a.q, &k = a.k, &embedding = a.embedding;
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
  if (!a.first) return;
  TORCH_CHECK_VALUE(a.first->dim() == 2 && a.first->sym_size(0) == q.sym_size(0) &&
                        a.first->sym_size(1) == q.sym_size(1) && a.first->device() == q.device(),
                    "first must be [B, T] = [", q.sym_size(0), ", ", q.sym_size(1), "] on ", q.device(),
                    "; got ", a.first->sym_sizes(), " on ", a.first->device());
  TORCH_CHECK_TYPE(a.first->scalar_type() == at::kLong, "first must be int64; got dtype ",
                   a.first->scalar_type());
}

// A sentence, not a crash, for who calls the gradient by hand.
void check(const CopeWeightsBackward& a) {
  check(a.forward());
  const Tensor &q = a.q, &k = a.k;
  const c10::SymInt batch = q.sym_size(0), heads = q.sym_size(2), queries = q.sym_size(1);
  const auto like = [&](const Tensor& t, const char* name, std::vector<c10::SymInt> shape,
                        at::ScalarType type) {
    TORCH_CHECK_VALUE(t.sym_sizes() == c10::SymIntArrayRef(shape), name, " must be ",
                      c10::SymIntArrayRef(shape), "; got ", t.sym_sizes());
    TORCH_CHECK_TYPE(t.scalar_type() == type, name, " must be ", type, "; got dtype ", t.scalar_type());
    TORCH_CHECK_VALUE(t.device() == q.device(), name, " and q must be on one device; got device ", t.device(),
                      " and ", q.device());
  };
  const at::ScalarType wide = compute_type(q.scalar_type());
  like(a.weights_grad, "weights_grad", {batch, heads, queries, k.sym_size(1)}, q.scalar_type());
  like(a.content, "content", {batch, heads, queries, k.sym_size(1)}, wide);
  like(a.z, "z", {batch, heads, queries, a.embedding.sym_size(0)}, wide);
  like(a.norm, "norm", {batch, heads, queries}, wide);
}

// From key 0 to the query's own: the kernels take `first` at its word.
Maybe within_keys(const Maybe& first, const Tensor& q, const Tensor& k) {
  if (!first) return std::nullopt;
  const Tensor own = at::arange(k.size(1) - q.size(1), k.size(1), first->options());
  return at::minimum(first->clamp_min(0), own).contiguous();
}

// The composed rows, in the order of the paper's listing: for any device and dtype, and the kernels' oracle.
struct Plain {
  Tensor hidden, s, gate, count, low, high, weight, z_low, z_high;
  Plain(const Tensor& content, const Tensor& z, double scale, const Maybe& first) {
    const int64_t queries = content.size(2), keys = content.size(3);
    const auto integers = content.options().dtype(at::kLong);
    const double most = double(z.size(3) - 1);
    const Tensor key = at::arange(keys, integers);
    hidden = key > at::arange(keys - queries, keys, integers).unsqueeze(-1);
    if (first) hidden = at::logical_or(hidden, key < first->unsqueeze(1).unsqueeze(-1));
    s = content * scale;
    gate = s.sigmoid().masked_fill(hidden, 0);
    count = gate.flip(-1).cumsum(-1).flip(-1);
    const Tensor place = count.clamp_max(most), floor = place.floor();
    weight = place - floor;
    low = floor.nan_to_num(0).to(at::kLong), high = (low + 1).clamp_max(z.size(3) - 1);
    z_low = z.gather(-1, low), z_high = z.gather(-1, high);
  }
  Tensor logits() const {
    return (s + (1 - weight) * z_low + weight * z_high).masked_fill(hidden, -INFINITY);
  }
};

std::tuple<Tensor, Tensor> rows_plain(const CopeWeights& a, const Tensor& content, const Tensor& z) {
  const Tensor logits = Plain(content, z, a.scale, a.first).logits();
  return {at::softmax(logits, -1).to(a.q.scalar_type()), logits.logsumexp(-1)};
}

std::tuple<Tensor, Tensor> rows_backward_plain(const CopeWeightsBackward& a) {
  const Tensor& z = a.z;
  const Plain p(a.content, z, a.scale, a.first);
  const Tensor weights = (p.logits() - a.norm.unsqueeze(-1)).exp(),
               grad = a.weights_grad.to(a.content.scalar_type());
  const Tensor dl = weights * (grad - (weights * grad).sum(-1, true));
  const Tensor dz =
      at::zeros_like(z).scatter_add(-1, p.low, (1 - p.weight) * dl).scatter_add(-1, p.high, p.weight * dl);
  const Tensor count_grad =
      (dl * (p.z_high - p.z_low)).masked_fill(p.count > double(z.size(3) - 1), 0).masked_fill(p.hidden, 0);
  return {((dl + count_grad.cumsum(-1) * p.gate * (1 - p.gate)) * a.scale).to(a.weights_grad.scalar_type()),
          dz};
}

// Rows side by side for the threads there are; each is computed alike whoever takes it.
template <class P>
void run_rows(const P& p) {
  const int64_t grain = std::max<int64_t>(1, kernels::machine::kKeysPerThread / p.rows.keys);
  at::parallel_for(0, p.rows.count, grain,
                   [&](int64_t first, int64_t last) { kernels::cope_cpu(p, first, last); });
}
std::tuple<Tensor, Tensor> rows_cpu(const CopeWeights& a, const Tensor& content, const Tensor& z) {
  if (a.q.scalar_type() == at::kHalf) return rows_plain(a, content, z);
  return cope_rows_with<double, float, kernels::bfloat16>([](const auto& p) { run_rows(p); }, a, content, z);
}
std::tuple<Tensor, Tensor> rows_backward_cpu(const CopeWeightsBackward& a) {
  if (a.weights_grad.scalar_type() == at::kHalf) return rows_backward_plain(a);
  return cope_rows_backward_with<double, float, kernels::bfloat16>([](const auto& p) { run_rows(p); }, a);
}

template <CopeRows rows>
CopeWeights::Result forward(const CopeWeights& a) {
  return cope_around(rows, a);
}
template <CopeRowsBackward rows>
CopeWeightsBackward::Result backward(const CopeWeightsBackward& a) {
  return cope_backward_around(rows, a);
}

CopeWeights::Result forward_meta(const CopeWeights& a) {
  check(a);
  const Tensor &q = a.q, &k = a.k;
  const std::vector<c10::SymInt> shape{q.sym_size(0), q.sym_size(2), q.sym_size(1), k.sym_size(1)},
      places{q.sym_size(0), q.sym_size(2), q.sym_size(1), a.embedding.sym_size(0)};
  const auto wide = q.options().dtype(compute_type(q.scalar_type()));
  return {at::empty_symint(shape, q.options()), at::empty_symint(shape, wide), at::empty_symint(places, wide),
          at::empty_symint({q.sym_size(0), q.sym_size(2), q.sym_size(1)}, wide)};
}
CopeWeightsBackward::Result backward_meta(const CopeWeightsBackward& a) {
  check(a);
  const auto like = [](const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); };
  return {like(a.q), like(a.k), like(a.embedding)};
}

using Op = Operator<CopeWeights>;
using Backward = Operator<CopeWeightsBackward>;

class Node : public torch::autograd::Function<Node> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& /*q*/, const Tensor& /*k*/,
                               const Tensor& /*embedding*/, const CopeWeights& a) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto [weights, content, z, norm] = Op::call(a);
    context->mark_non_differentiable({content, z, norm});
    context->set_materialize_grads(
        false);  // no zeros for what has no gradient: they are as large as the weights
    context->save_for_backward({content, z, norm, a.q, a.k, a.embedding, a.first.value_or(Tensor())});
    context->saved_data["scale"] = a.scale;
    context->saved_data["position_scale"] = a.position_scale;
    return {weights, content, z, norm};
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    if (!grads[0].defined()) return variable_list(4);
    const Maybe first = saved[6].defined() ? Maybe(saved[6]) : std::nullopt;
    auto [dq, dk, dembedding] = Backward::call({grads[0], saved[0], saved[1], saved[2], saved[3], saved[4],
                                                saved[5], context->saved_data["scale"].toDouble(),
                                                context->saved_data["position_scale"].toDouble(), first});
    return {dq, dk, dembedding, Tensor()};
  }
};

CopeWeights::Result autograd(const CopeWeights& a) {
  check(a);
  const Tensor q = by_head(a.q), k = by_head(a.k);  // once, for all products with them
  const variable_list out =
      Node::apply(q, k, a.embedding, CopeWeights{q, k, a.embedding, a.scale, a.position_scale, a.first});
  return {out[0], out[1], out[2], out[3]};
}

CopeWeightsBackward::Result backward_autograd(const CopeWeightsBackward& a) {
  differentiable_once("cope_weights", a.weights_grad.requires_grad() || a.q.requires_grad() ||
                                          a.k.requires_grad() || a.embedding.requires_grad());
  at::AutoDispatchBelowADInplaceOrView below;
  return Backward::call(a);
}

}  // namespace

CopeWeights::Result cope_around(CopeRows rows, const CopeWeights& a) {
  check(a);
  const NoAutocast exact;
  const Tensor& q = a.q;
  const Tensor content = wide_product(q, a.k), places = a.embedding.to(q.scalar_type())
                                                            .view({1, -1, 1, q.size(3)})
                                                            .expand({q.size(0), -1, q.size(2), -1});
  const Tensor z = wide_product(q, places).mul_(a.position_scale);
  const Maybe first = within_keys(a.first, q, a.k);
  const auto [weights, norm] = rows({q, a.k, a.embedding, a.scale, a.position_scale, first}, content, z);
  return {weights, content, z, norm};
}

CopeWeightsBackward::Result cope_backward_around(CopeRowsBackward rows, const CopeWeightsBackward& a) {
  check(a);
  const NoAutocast exact;
  const Tensor &q = a.q, &k = a.k, &embedding = a.embedding;
  const Maybe first = within_keys(a.first, q, k);
  const auto [dcontent, dz_wide] =
      rows({a.weights_grad.contiguous(), a.content.contiguous(), a.z.contiguous(), a.norm.contiguous(), q, k,
            embedding, a.scale, a.position_scale, first});
  const at::ScalarType type =
      q.is_cuda() ? q.scalar_type()
                  : compute_type(q.scalar_type());  // let the tensor cores take them as they are
  const Tensor ds = dcontent.to(type), dz = dz_wide.mul(a.position_scale).to(type), keys = k.to(type),
               queries = q.to(type);
  const Tensor dq = mixed(ds, keys) + at::einsum("bhtp,pd->bthd", {dz, embedding.to(type)});
  const Tensor dk = mixed(ds.transpose(2, 3), queries),
               dembedding = at::einsum("bhtp,bthd->pd", {dz, queries});
  return {dq.to(q.scalar_type()).contiguous(), dk.to(k.scalar_type()).contiguous(),
          dembedding.to(embedding.scalar_type()).contiguous()};
}

Tensor cope_weights(const CopeWeights& a) { return std::get<0>(Op::call(a)); }

TORCH_LIBRARY_IMPL(darope, CompositeExplicitAutograd, m) {
  m.impl("cope_weights", Op::kernel<forward<rows_plain>>);
  m.impl("cope_weights_backward", Backward::kernel<backward<rows_backward_plain>>);
}
TORCH_LIBRARY_IMPL(darope, CPU, m) {
  m.impl("cope_weights", Op::kernel<forward<rows_cpu>>);
  m.impl("cope_weights_backward", Backward::kernel<backward<rows_backward_cpu>>);
}
TORCH_LIBRARY_IMPL(darope, Meta, m) {
  m.impl("cope_weights", Op::kernel<forward_meta>);
  m.impl("cope_weights_backward", Backward::kernel<backward_meta>);
}
TORCH_LIBRARY_IMPL(darope, Autograd, m) {
  m.impl("cope_weights", Op::kernel<autograd>);
  m.impl("cope_weights_backward", Backward::kernel<backward_autograd>);
}

}  // namespace darope::ops
