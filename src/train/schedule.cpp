#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace darope {

void OptimConfig::check(int64_t steps) const {
  const auto need = [](bool right, const char* key, double value, const char* what) {
    if (!right) throw Error(fmt::format("optim.{} is {}: it must be {}", key, value, what));
  };
  constexpr double kMost = 1e30;  // well within what a float holds
  need(lr > 0 && lr <= kMost, "lr", lr, "above 0 and at most 1e+30");
  need(weight_decay >= 0 && weight_decay <= kMost, "weight_decay", weight_decay,
       "at least 0 and at most 1e+30");
  need(warmup >= 0, "warmup", warmup, "at least 0");
  need(lr_min_ratio >= 0 && lr_min_ratio <= 1, "lr_min_ratio", lr_min_ratio, "between 0 and 1");
  need(clip >= 0 && clip <= kMost, "clip", clip, "at least 0 and at most 1e+30");
  need(beta1 >= 0 && beta1 < 1, "beta1", beta1, "at least 0 and below 1");
  need(beta2 >= 0 && beta2 < 1, "beta2", beta2, "at least 0 and below 1");
  need(epsilon > 0 && epsilon <= kMost, "epsilon", epsilon, "above 0 and at most 1e+30");
  if (warmup > double(steps))
    throw Error(fmt::format("optim.warmup is {}, more than the {} steps of the run", warmup, steps));
}

int64_t OptimConfig::warmup_steps(int64_t steps) const {
  return std::llround(warmup < 1 ? warmup * double(steps) : warmup);
}

double learning_rate(const OptimConfig& c, bool lingua, int64_t step, int64_t steps) {
  const int64_t warmup = c.warmup_steps(steps);
  if (step < warmup)
    return c.lr * (lingua ? double(step) / double(warmup) : double(step + 1) / double(warmup + 1));
  if (step >= steps) return c.lr * c.lr_min_ratio;
  const double progress = double(step - warmup) / double(steps - warmup);
  return c.lr * (c.lr_min_ratio + (1 - c.lr_min_ratio) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

}  // namespace darope
