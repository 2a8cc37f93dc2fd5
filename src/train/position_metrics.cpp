#include "train/position_metrics.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/xlogy.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace darope {
namespace {

constexpr int64_t kBins = 64;

void add_alpha(Decoder& model, size_t layer, Scalars& out) {
  for (const size_t i : model.plan().layers[layer].encoding_weights) {
    const Weight& weight = model.plan().weights[i];
    if (!weight.parts.front().name.ends_with(".alpha") || weight.count() == 0) continue;
    const Tensor alpha = model.weights().leaves()[i].to(at::kCPU, at::kDouble);
    const std::string name = fmt::format("pe/alpha.layer{}", layer);
    out.insert(out.end(), {{name + ".mean", alpha.mean().item<double>()},
                           {name + ".min", alpha.min().item<double>()},
                           {name + ".max", alpha.max().item<double>()}});
  }
}

void add_coordinate(const Tensor& coordinate, int64_t length, size_t layer, Scalars& out) {
  if (!coordinate.defined() || coordinate.numel() == 0) return;
  const Tensor share = coordinate.to(at::kCPU, at::kFloat).flatten() / double(length);
  const Tensor p = at::histc(share, kBins, 0, 1) / double(share.numel());
  const std::string name = fmt::format("pe/coordinate.layer{}", layer);
  out.emplace_back(name + ".entropy", -at::xlogy(p, p).sum().item<double>() / std::log(double(kBins)));
  out.emplace_back(name + ".saturated",
                   ((share < 0.01) | (share > 0.99)).to(at::kFloat).mean().item<double>());
}

}  // namespace

Scalars position_metrics(Decoder& model, const Tensor& tokens) {
  const at::NoGradGuard guard;
  Scalars out;
  for (size_t layer = 0; layer < model.plan().layers.size(); ++layer) add_alpha(model, layer, out);
  const std::vector<Plan::Layer>& layers = model.plan().layers;
  if (std::none_of(layers.begin(), layers.end(),
                   [](const Plan::Layer& layer) { return layer.encoding->has_coordinate(); }))
    return out;
  model.refresh();
  const std::vector<Tensor> coordinates = model.coordinates(tokens);
  for (size_t layer = 0; layer < coordinates.size(); ++layer)
    add_coordinate(coordinates[layer], model.config().max_seqlen, layer, out);
  return out;
}

}  // namespace darope
