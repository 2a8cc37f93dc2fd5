#include "eval/microscope.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>

namespace darope {
namespace {

// Every share of attention, [H, T, T]: what is attended to are marks of some keys at a time, so that any
// encoding's own attention gives them.
Tensor shares_of(const Decoder::Compared& at) {
  const at::ScalarType type = at.q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor q = at.q.to(type), k = at.k.to(type), marks = at::eye(k.size(1), k.options());
  std::vector<Tensor> parameters, parts;
  for (const Tensor& each : at.parameters) parameters.push_back(each.to(type));
  const int64_t width = at.encoding.shape().head_dim;
  for (int64_t first = 0; first < k.size(1); first += width) {
    const int64_t some = std::min(width, k.size(1) - first);
    Tensor v =
        marks.narrow(1, std::min(first, std::max<int64_t>(0, k.size(1) - width)), std::min(width, k.size(1)));
    v = v.view({1, k.size(1), 1, -1}).expand({1, -1, k.size(2), -1}).contiguous();
    const Tensor out = at.encoding.attend(parameters, q, k, v, at.context)[0];
    parts.push_back(out.narrow(2, out.size(2) - some, some));
  }
  return at::cat(parts, 2).transpose(0, 1);
}

// A parameter of a layer by the paper's letter.
std::optional<size_t> find_parameter(const Encoding& encoding, const std::string& name) {
  const std::vector<Parameter> all = encoding.parameters();
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return i;
  return std::nullopt;
}

}  // namespace

Seen look_through(const Decoder& model, const std::vector<int64_t>& tokens, int64_t most_attended) {
  const at::NoGradGuard no_grad;
  const Tensor row = at::tensor(tokens, at::kLong).unsqueeze(0).to(model.device());
  std::vector<Tensor> attended, shares, alphas, coordinates;
  const Decoder::Look look{.compared = [&](const Decoder::Compared& at) {
    const auto [weight, key] = at::topk(shares_of(at), std::min(most_attended, row.size(1)), 2);
    attended.push_back(key);
    shares.push_back(weight);
    if (const auto alpha = find_parameter(at.encoding, "alpha"); alpha && at.parameters[*alpha].dim() == 1)
      alphas.push_back(at.parameters[*alpha].to(at::kFloat));
  }};
  model.hidden(row, {}, {.look = look});
  for (const Tensor& each : model.coordinates(row))
    if (each.defined()) coordinates.push_back((each.dim() == 4 ? each.mean(-1) : each)[0].t());
  const auto whole = [&](const std::vector<Tensor>& layers) {
    return layers.size() == model.plan().layers.size() ? at::stack(layers).cpu() : Tensor();
  };
  return {whole(coordinates), whole(alphas), whole(attended), whole(shares)};
}

}  // namespace darope
