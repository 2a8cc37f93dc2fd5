#include "encodings/attention.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <cmath>
#include <mutex>

#include "encodings/encoding.h"
#include "ops/attention.h"
#include "ops/once.h"
#include "ops/rotate.h"

namespace darope {
namespace {

// From queries, the last of the keys' tokens, to keys, counted in tokens: [Tq, Tk].
Tensor offsets(const c10::SymInt& queries, const c10::SymInt& keys, const at::TensorOptions& options) {
  return at::arange(at::Scalar(keys - queries), at::Scalar(keys), options).unsqueeze(-1) -
         at::arange(at::Scalar(keys), options);
}

// Who is too far away or yet to come, by the offset of a query to a key.
Tensor hidden(const Tensor& offset, const Context& context, int64_t window) {
  if (!context.causal) return offset.abs() >= window;
  return window > 0 ? at::logical_or(offset < 0, offset >= window) : offset < 0;
}

// [B, 1, Tq, Tk]: who is in another document.
Tensor elsewhere(const Tensor& starts, const c10::SymInt& queries) {
  const Tensor own = starts.narrow_symint(1, starts.sym_size(1) - queries, queries);
  return (own.unsqueeze(-1) != starts.unsqueeze(1)).unsqueeze(1);
}

// The bias of every pair, [H, Tq, Tk] or [B, H, Tq, Tk], evaluated for each.
Tensor bias_of_pairs(const Tensor& q, const Tensor& k, const Context& context, const ScoreRule& rule) {
  const c10::SymInt queries = q.sym_size(1), keys = k.sym_size(1);
  const Tensor key = context.positions.defined()
                         ? context.positions
                         : at::arange(at::Scalar(keys), q.options().dtype(at::kDouble)),
               query = key.narrow_symint(-1, keys - queries, queries).unsqueeze(-1).unsqueeze(-3);
  const at::ScalarType type = ops::compute_type(q.scalar_type());
  const Tensor distance = query - key.unsqueeze(-2).unsqueeze(-3);
  return rule.bias(distance.to(type), query.to(type)).to(q.scalar_type());
}

// [H, Tq, Tk] where a bias is a function of the distance and tokens follow one another: a row of it over all
// distances, from the farthest key's down, of which each query takes a stretch. It is evaluated Tq + Tk
// times, and what cannot be seen is -inf in the row already.
Tensor bias_of_row(const Tensor& q, const Tensor& k, const Context& context, const ScoreRule& rule) {
  const c10::SymInt queries = q.sym_size(1), keys = k.sym_size(1);
  const at::ScalarType type = ops::compute_type(q.scalar_type());
  const Tensor distance = at::arange(at::Scalar(keys - 1), at::Scalar(-queries), -1, q.options().dtype(type));
  Tensor row = rule.bias(distance.unsqueeze(0).unsqueeze(0), {}).squeeze(-2).to(q.scalar_type());
  if (context.causal || rule.window > 0)
    row = row.masked_fill(hidden(distance, context, rule.window), -INFINITY);
  return row.unfold(-1, keys.guard_int(__FILE__, __LINE__), 1).flip(-2);
}

// What the library is to add to the scores, or true where a key may be seen: broadcasts to [B, H, Tq, Tk].
Tensor mask_for(const Tensor& q, const Tensor& k, const Context& context, const ScoreRule& rule) {
  const c10::SymInt queries = q.sym_size(1), keys = k.sym_size(1);
  const bool bounded = context.causal || rule.window > 0;
  const auto out_of_sight = [&] {
    return hidden(offsets(queries, keys, k.options().dtype(at::kLong)), context, rule.window);
  };
  if (!rule.bias) {
    if (!context.starts.defined()) return at::logical_not(out_of_sight());
    const Tensor other = elsewhere(context.starts, queries);
    return at::logical_not(bounded ? at::logical_or(other, out_of_sight()) : other);
  }
  const bool by_row = !rule.reads_query && !context.positions.defined();
  Tensor bias = by_row ? bias_of_row(q, k, context, rule) : bias_of_pairs(q, k, context, rule);
  if (!by_row && bounded) bias = bias.masked_fill(out_of_sight(), -INFINITY);
  if (bias.dim() == 3) bias = bias.unsqueeze(0);
  return context.starts.defined() ? bias.masked_fill(elsewhere(context.starts, queries), -INFINITY) : bias;
}

// cuDNN prepares itself for every new number of keys, which takes longer than attending to them: a cache that
// grows by a token is not for it. While this lives it is not asked, unless nobody else may be. The switch is
// the whole process's: one thread at a time.
class WithoutCudnn {
 public:
  WithoutCudnn() : alone_(mutex()), before_(context().userEnabledCuDNNSDP()) {
    if (context().userEnabledFlashSDP() || context().userEnabledMemEfficientSDP() ||
        context().userEnabledMathSDP())
      context().setSDPUseCuDNN(false);
  }
  ~WithoutCudnn() { context().setSDPUseCuDNN(before_); }
  WithoutCudnn(const WithoutCudnn&) = delete;
  WithoutCudnn& operator=(const WithoutCudnn&) = delete;

 private:
  static at::Context& context() { return at::globalContext(); }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  const std::lock_guard<std::mutex> alone_;
  const bool before_;
};

// Only cuDNN's fast kernel takes values narrower than keys.
bool takes_narrow_values(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                         double dropout) {
  if (!q.is_cuda()) return false;
  return at::SDPBackend(at::_fused_sdp_choice(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {},
                                              dropout, causal, scale)) == at::SDPBackend::cudnn_attention;
}

}  // namespace

Tensor document_starts(const Tensor& ids) {
  const Tensor index = at::arange(at::Scalar(ids.sym_size(1)), ids.options().dtype(at::kLong));
  return std::get<0>((index * (ids != ids.roll(1, 1))).cummax(1));
}

// A window over a long text: queries in blocks as long as it, each with its own block of keys and the one
// before, so that time and memory grow with the tokens alone.
static Tensor windowed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Context& context,
                                 const ScoreRule& rule, double scale, double dropout) {
  const int64_t window = rule.window, length = q.sym_size(1).guard_int(__FILE__, __LINE__),
                blocks = (length + window - 1) / window, more = blocks * window - length;
  const auto whole = [&](const Tensor& x) { return at::constant_pad_nd(x, {0, 0, 0, 0, 0, more}); };
  const auto pairs = [&](const Tensor& x) {
    return whole(x).unfold(1, 2 * window, window).movedim(-1, 2).flatten(0, 1);
  };
  const auto front = [&](const Tensor& x) { return x.narrow(1, 0, window); };
  const Tensor first = softmax_attention(front(q), front(k), front(v), context, rule, scale, dropout);
  const Tensor queries = whole(q).slice(1, window).unflatten(1, {blocks - 1, window}).flatten(0, 1);
  const Tensor rest = softmax_attention(queries, pairs(k), pairs(v), context, rule, scale, dropout);
  const Tensor joined = rest.unflatten(0, {-1, blocks - 1}).flatten(1, 2).narrow(1, 0, length - window);
  return at::cat({first, joined}, 1);
}

Tensor softmax_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Context& context,
                         const ScoreRule& rule, double scale, double dropout) {
  const bool square = q.sym_size(1) == k.sym_size(1), single = q.sym_size(1) == 1;
  const bool windowed = rule.window > 0 && k.sym_size(1) > rule.window;
  const bool plain = (!rule.bias && !windowed && !context.starts.defined()) || q.sym_size(1) == 0;
  const bool causal = context.causal;
  const bool by_blocks = causal && square && !rule.bias && !context.starts.defined();
  if (windowed && by_blocks && k.sym_size(1) > 2 * rule.window && q.sym_size(0) > 0)
    return windowed_attention(q, k, v, context, rule, scale, dropout);
  const c10::SymInt width = v.sym_size(3), wide = q.sym_size(3);
  if (wide > width && !single &&
      !(square && plain &&
        takes_narrow_values(q, k, v, causal, scale, dropout))) {  // the others want one width: zeros add none
    const Tensor padded = at::constant_pad_nd_symint(v, {0, wide - width});
    return softmax_attention(q, k, padded, context, rule, scale, dropout).narrow_symint(-1, 0, width);
  }
  if (causal && square && plain && dropout == 0 && is_short(q, k, v)) return short_attention(q, k, v, scale);
  const bool masked = !plain || (causal && !square && !single);
  const bool grouped = q.sym_size(2) != k.sym_size(2);
  if (masked && grouped && q.is_cuda()) {  // no fused kernel takes both a mask and fewer key heads
    const c10::SymInt group = q.sym_size(2) / k.sym_size(2);
    return softmax_attention(q, k.repeat_interleave_symint(group, 2), v.repeat_interleave_symint(group, 2),
                             context, rule, scale, dropout);
  }
  const std::optional<Tensor> mask = masked ? std::optional(mask_for(q, k, context, rule)) : std::nullopt;
  std::optional<WithoutCudnn> guard;
  if (!square && q.is_cuda()) guard.emplace();
  const Tensor out =
      at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask, dropout,
                                       causal && square && !single && !masked, scale, grouped);
  // Some of its kernels have a second derivative: which one runs should not decide what can be asked for.
  if (out.requires_grad()) out.register_hook([](const Tensor&) { ops::differentiable_once("attention"); });
  return out.transpose(1, 2);
}

Tensor Encoding::attend(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Context& context, double dropout) const {
  return softmax_attention(q, k, v, context, rule(parameters, context.causal),
                           1 / std::sqrt(double(shape_.head_dim)), dropout);
}

}  // namespace darope
