#include "train/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace darope {

void OptimConfig::check(int64_t steps) const {
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
