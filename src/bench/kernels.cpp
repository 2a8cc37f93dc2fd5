#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench/bench.h"
#include "experiments/run.h"
#include "model/plan.h"
#include "ops/head.h"
#include "ops/norm.h"
#include "ops/products.h"

namespace darope {
namespace {

using torch::autograd::variable_list;

// Where a part works and on how much.
struct Place {
  DecoderConfig model;
  int64_t batch, length;
  at::TensorOptions options;
  int64_t rows() const { return batch * length; }
  Tensor draw(at::IntArrayRef size) const { return at::randn(size, options); }
};
Place place_of(const Shape& shape, const std::string& encoding) {
  const at::Device device = find_device(shape.run.device);
  return {shape.model(encoding), shape.run.data.batch_size, shape.run.data.seq_len,
          at::TensorOptions().device(device).dtype(find_dtype(shape.run.dtype, device))};
}

enum class Pass { forward, backward, both };

// A function of tensors, the leaves whose gradients are asked for.
struct Part {
  variable_list leaves;
  std::function<variable_list(const variable_list& leaves)> run = nullptr;
};

Call call_of(Part part, Pass pass) {
  for (Tensor& leaf : part.leaves) leaf.requires_grad_();
  if (pass == Pass::forward)
    return [part] {
      const at::NoGradGuard no_grad;
      part.run(part.leaves);
    };
  if (pass == Pass::both) return [part] { torch::autograd::grad(part.run(part.leaves), part.leaves); };
  const variable_list out = part.run(part.leaves);
  variable_list upstream;
  for (const Tensor& each : out) upstream.push_back(at::randn_like(each));
  return [=] { torch::autograd::grad(out, part.leaves, upstream, true, false, true); };
}

Part encode(const Place& p) {
  const Plan plan(p.model);
  const std::shared_ptr<const Encoding> encoding = plan.layers.front().encoding;
  const int64_t heads = p.model.n_heads, kv = p.model.kv_heads();
  const Tensor qkv = p.draw({p.batch, p.length, heads + 2 * kv, p.model.head_dim()}),
               positions = at::arange(p.length, p.options.dtype(at::kDouble));
  Part out{.leaves = {qkv.narrow(2, 0, heads).detach(), qkv.narrow(2, heads, kv).detach(),
                      p.draw({p.batch, p.length, p.model.dim})}};
  for (const Parameter& each : encoding->parameters())
    out.leaves.push_back(at::full(each.shape, each.a, p.options.dtype(at::kFloat)));
  out.run = [=](const variable_list& x) {
    const auto [q, k] = encoding->encode(TensorList(x).slice(3), x[0], x[1], x[2], positions);
    return variable_list{q, k};
  };
  return out;
}

Part add_and_norm(const Place& p) {
  const auto rows = [&] { return p.draw({p.rows(), p.model.dim}); };
  return {{rows(), rows(), p.draw({p.model.dim})}, [eps = p.model.norm_eps](const variable_list& x) {
            const Added out = add_rms_norm(x[0], x[1], x[2], eps);
            return variable_list{out.sum, out.norm};
          }};
}

Part loss_of_head(const Place& p) {
  const Tensor targets = at::randint(p.model.vocab_size, {p.rows()}, p.options.dtype(at::kLong)),
               share = at::full({p.rows()}, 1 / double(p.rows()), p.options.dtype(at::kFloat));
  return {{p.draw({p.rows(), p.model.dim}), p.draw({p.model.vocab_size, p.model.dim})},
          [=](const variable_list& x) { return variable_list{head_loss(x[0], x[1], targets, share)}; }};
}

// The backward pass scales its upstream by `up` in place, time after time: at 1 and -1 it stays what it was.
Call call_of_swiglu(const Place& p, Pass pass) {
  const Tensor h = p.draw({p.rows(), 2 * p.model.hidden()});
  Tensor upstream = p.draw({p.rows(), p.model.hidden()});
  h.chunk(2, -1)[1].sign_();
  if (pass == Pass::forward) return [=] { swiglu(h); };
  return [=]() mutable { swiglu_backward(upstream, h); };
}

// The numbers that go in and come out of an encoding's part, a token.
struct Traffic {
  double in = 0, out = 0, input = 0;  // of q and k; of the layer's input, where it is read
  bool kept = false;                  // the backward pass reads again what came in
};
std::optional<Traffic> traffic_of(const Place& p) {
  const Part part = encode({p.model, 1, 1, at::TensorOptions().dtype(at::kFloat)});
  const variable_list made = part.run(part.leaves);
  if (made[0].is_same(part.leaves[0])) return std::nullopt;
  const bool coordinate = Plan(p.model).layers.front().encoding->has_coordinate();
  return Traffic{double(part.leaves[0].numel() + part.leaves[1].numel()),
                 double(made[0].numel() + made[1].numel()), coordinate ? double(p.model.dim) : 0,
                 part.leaves.size() > 3};
}

Trial trial_of(const Place& p, const std::string& encoding, const std::string& what, Cost cost,
               const std::function<Call()>& make) {
  return {.encoding = encoding,
          .what = what,
          .batch = p.batch,
          .length = p.length,
          .cost = cost,
          .time = [=, device = p.options.device()](const Timing& t) { return time_calls(device, t, make); }};
}

}  // namespace

std::vector<Trial> kernel_trials(const Shape& shape, const std::vector<std::string>& encodings) {
  std::vector<Trial> out;
  for (const std::string& encoding : encodings) {
    const Place p = place_of(shape, encoding);
    const std::optional<Traffic> t = traffic_of(p);
    if (!t) continue;  // nothing happens to q and k
    const double numbers = double(p.rows()) * double(p.options.dtype().itemsize());
    const auto add = [&](const char* pass, Pass which, double bytes) {
      out.push_back(
          trial_of(p, encoding, pass, {0, numbers * bytes}, [=] { return call_of(encode(p), which); }));
    };
    add("encode, forward", Pass::forward, t->in + t->out + t->input);
    add("encode, backward", Pass::backward, t->out + t->in + (t->kept ? t->in : 0) + 2 * t->input);
  }
  const Place p = place_of(shape, "nope");
  const double rows = double(p.rows()), width = double(p.model.dim),
               size = double(p.options.dtype().itemsize()), head = double(p.model.vocab_size) * width;
  const auto add = [&](const char* what, Cost cost, const std::function<Call()>& make) {
    out.push_back(trial_of(p, "", what, cost, make));
  };
  for (const auto& [pass, name] : {std::pair{Pass::forward, "forward"}, {Pass::backward, "backward"}}) {
    add(fmt::format("add and norm, {}", name).c_str(), {0, 4 * rows * width * size},
        [=] { return call_of(add_and_norm(p), pass); });
    const double halves = pass == Pass::forward ? 3 : 5;
    if (p.model.feed_forward_name() == "swiglu")
      add(fmt::format("swiglu, {}", name).c_str(), {0, halves * rows * double(p.model.hidden()) * size},
          [=] { return call_of_swiglu(p, pass); });
  }
  add("head loss, both", {6 * rows * head, (2 * head + 2 * rows * width) * size},
      [=] { return call_of(loss_of_head(p), Pass::both); });
  return out;
}

}  // namespace darope
