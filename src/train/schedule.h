#pragma once
#include <cstdint>

namespace darope {

struct OptimConfig {
  static constexpr double kMost = 1e30;  // well within what a float holds
  double lr = 3e-4, weight_decay = 0.1, warmup = 0.05, lr_min_ratio = 0.1, clip = 1.0, beta1 = 0.9,
         beta2 = 0.95, epsilon = 1e-8;

  void fields(auto&& visit) {
    visit("lr", lr, "peak learning rate of AdamW", {.most = kMost, .above = 0});
    visit("weight_decay", weight_decay,
          "decoupled; on every tensor in style lingua, on matrices in style nanogpt",
          {.least = 0, .most = kMost});
    visit("warmup", warmup, "steps until the peak; below 1, a share of the steps", {.least = 0});
    visit("lr_min_ratio", lr_min_ratio, "the rate at the end, as a share of the peak",
          {.least = 0, .most = 1});
    visit("clip", clip, "largest gradient norm; 0 leaves gradients alone", {.least = 0, .most = kMost});
    visit("beta1", beta1, "decay of the first moment", {.least = 0, .below = 1});
    visit("beta2", beta2, "decay of the second moment", {.least = 0, .below = 1});
    visit("epsilon", epsilon, "added to the root of the second moment", {.most = kMost, .above = 0});
  }
  void check(int64_t steps) const;  // what no single setting says
  int64_t warmup_steps(int64_t steps) const;
};

// The rate of a step counted from 0: warm-up, then half a cosine, each as the code base of that block style
// computes it. Lingua's first step has rate 0 and nanoGPT's first has peak / (warmup + 1).
double learning_rate(const OptimConfig& config, bool lingua, int64_t step, int64_t steps);

}  // namespace darope
