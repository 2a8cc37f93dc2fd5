#include "train/optimizer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "ops/model_cuda.h"

namespace darope {

AdamW::AdamW(Weights& weights, const Plan& plan, const OptimConfig& config)
    : weights_(weights),
      config_(config),
      gradient_(weights.like_flat()),
      first_(weights.like_flat()),
      second_(weights.like_flat()) {
  const at::TensorOptions scalar = weights.flat().options().dtype(at::kFloat);
  rate_ = at::zeros({}, scalar);
  steps_ = at::zeros({1}, scalar);
  stopped_ = at::zeros({1}, scalar);
  norm_ = at::zeros({1}, weights.flat().options());
  if (weights.copy().defined()) low_gradient_ = at::zeros_like(weights.copy());
  const std::vector<Tensor> gradients = weights.cut(gradient_),
                            low = weights.copy().defined() ? weights.cut(low_gradient_) : gradients;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& leaf = weights.leaves()[i];
    leaf.mutable_grad() =
        plan.weights[i].of_encoding ? gradients[i] : low[i];  // backward adds to it in place
    if (const auto& bounds = plan.weights[i].bounds)
      bounded_.push_back({leaf.detach(), bounds->first, bounds->second});
  }
}

void AdamW::collect() {
  if (!low_gradient_.defined()) return;
  const at::NoGradGuard no_grad;
  gradient_.add_(low_gradient_);
  low_gradient_.zero_();
}

void AdamW::scale(const Tensor& factor) {
  const at::NoGradGuard no_grad;
  gradient_.mul_(factor);
}

void AdamW::update(int64_t offset, int64_t count, double decay) {
  if (count == 0) return;
  const auto part = [&](const Tensor& flat) { return flat.narrow(0, offset, count); };
  at::_fused_adamw_({part(weights_.flat())}, {part(gradient_)}, {part(first_)}, {part(second_)}, {}, {steps_},
                    rate_, config_.beta1, config_.beta2, decay, config_.epsilon, false, false, {}, stopped_);
}

void AdamW::step_by_library(const Tensor& loss) {
  collect();
  norm_.copy_(at::linalg_vector_norm(gradient_));
  const Tensor both = norm_ + loss;
  stopped_.copy_(
      at::maximum(stopped_, (both - both).ne(0).to(at::kFloat)));  // x - x is 0 unless x is not finite
  if (config_.clip > 0) gradient_.mul_((config_.clip / (norm_ + 1e-6)).clamp_max(1.0));
  steps_.add_(1).sub_(stopped_);
  update(0, weights_.decayed(), config_.weight_decay);
  update(weights_.decayed(), weights_.flat().numel() - weights_.decayed(), 0);
  gradient_.zero_();
  weights_.refresh();
}

void AdamW::step(const Tensor& loss) {
  const at::NoGradGuard no_grad;
  if (adamw_fits_on_cuda(weights_.flat(), weights_.copy()))
    adamw_on_cuda({weights_.flat(), first_, second_, gradient_, low_gradient_, weights_.copy(),
                   weights_.decayed(), config_.beta1, config_.beta2, config_.epsilon, config_.weight_decay,
                   config_.clip, rate_, loss, steps_, stopped_, norm_});
  else
    step_by_library(loss);
  for (const Bounded& each : bounded_) each.weight.clamp_(each.low, each.high);
}

std::vector<TensorToWrite> AdamW::named(const std::function<Tensor(const Tensor&)>& copy) const {
  std::vector<TensorToWrite> out = weights_.named(copy(first_), "exp_avg.");
  for (TensorToWrite& each : weights_.named(copy(second_), "exp_avg_sq.")) out.push_back(std::move(each));
  return out;
}

void AdamW::read(const SafetensorsFile& file, int64_t steps) {
  weights_.read(file, first_, "exp_avg.");
  weights_.read(file, second_, "exp_avg_sq.");
  steps_.fill_(steps);
}

}  // namespace darope
