#include "train/optimizer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cmath>

#include "small.h"
#include "train/schedule.h"

namespace darope {
namespace {

TEST(Schedule, WarmsUpAndFallsAsBothCodeBasesDo) {
  OptimConfig config;
  config.lr = 1, config.warmup = 10, config.lr_min_ratio = 0.1;
  EXPECT_EQ(learning_rate(config, true, 0, 110), 0);
  EXPECT_NEAR(learning_rate(config, true, 5, 110), 0.5, 1e-12);
  EXPECT_NEAR(learning_rate(config, false, 0, 110), 1.0 / 11, 1e-12);
  EXPECT_NEAR(learning_rate(config, false, 9, 110), 10.0 / 11, 1e-12);
  for (const bool lingua : {true, false}) {
    EXPECT_NEAR(learning_rate(config, lingua, 10, 110), 1, 1e-12);
    EXPECT_NEAR(learning_rate(config, lingua, 60, 110), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate(config, lingua, 110, 110), 0.1, 1e-12);
  }
  config.warmup = 0.05;
  EXPECT_EQ(config.warmup_steps(100), 5);
  EXPECT_EQ(config.warmup_steps(1), 0);
  EXPECT_NO_THROW(config.check(1));
}

// AdamW written out for one step, with clipping and both decay groups.
TEST(AdamW, TakesTheStepOfItsFormula) {
  DecoderConfig model_config = small("nope");
  Decoder model(model_config, at::kCPU, at::kDouble);
  OptimConfig config;
  config.clip = 0.5;
  AdamW optimizer(model.weights(), model.plan(), config);
  optimizer.set_rate(0.25);  // exact in float32
  model.loss(reversing().train->at(0)).backward();
  double square = 0;
  for (const Tensor& leaf : model.weights().leaves()) square += leaf.grad().square().sum().item<double>();
  const double scale = std::min(1.0, 0.5 / (std::sqrt(square) + 1e-6));
  std::vector<Tensor> before, gradient;
  for (const Tensor& leaf : model.weights().leaves())
    before.push_back(leaf.detach().clone()), gradient.push_back(leaf.grad().clone());
  optimizer.step(at::ones({1}, at::kDouble));
  for (size_t i = 0; i < before.size(); ++i) {
    const at::NoGradGuard no_grad;
    const Tensor g = gradient[i] * scale,
                 moved = g / (g.abs() + config.epsilon);  // both moments are fresh, their corrections cancel
    const double decay = model.plan().weights[i].decay ? 1 - 0.25 * config.weight_decay : 1;
    const double difference =
        (model.weights().leaves()[i] - (before[i] * decay - 0.25 * moved)).abs().max().item<double>();
    EXPECT_LT(difference, 1e-9) << model.plan().weights[i].parts[0].name;
  }
  EXPECT_LT(scale, 1) << "clipping was not exercised";
}

// The same random gradients for all leaves, whatever their type and device.
void fill_gradients(const Weights& weights, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (const Tensor& leaf : weights.leaves())
    leaf.mutable_grad().copy_(at::randn(leaf.sizes(), generator).to(at::kBFloat16));
}

// The library's steps on the CPU are the oracle of the GPU's own, with clipping, decay and a copy in 16 bits.
TEST(AdamW, TakesTheSameStepsOnAGpu) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no GPU";
  OptimConfig config;
  config.clip = 0.5;
  Decoder there(small("darope"), at::kCPU, at::kFloat), here(small("darope"), at::kCUDA, at::kBFloat16);
  AdamW library(there.weights(), there.plan(), config), ours(here.weights(), here.plan(), config);
  const Tensor loss = at::ones({1});
  for (uint64_t step = 0; step < 5; ++step) {
    for (AdamW* each : {&library, &ours}) each->set_rate(0.01);
    fill_gradients(there.weights(), step);
    fill_gradients(here.weights(), step);
    library.step(loss);
    ours.step(loss.cuda());
    EXPECT_NEAR(ours.gradient_norm().item<float>() / library.gradient_norm().item<float>(), 1, 1e-5);
  }
  const Tensor flat = here.weights().flat();
  EXPECT_LT((flat.cpu() - there.weights().flat()).abs().max().item<float>(), 1e-5);
  EXPECT_TRUE(here.weights().copy().equal(flat.to(at::kBFloat16)));
  for (const Tensor& leaf : here.weights().leaves()) EXPECT_EQ(leaf.grad().abs().max().item<float>(), 0);
  const Tensor before = flat.clone();
  fill_gradients(here.weights(), 6);
  ours.step(loss.cuda() * NAN);
  EXPECT_TRUE(flat.equal(before));
  EXPECT_EQ(ours.steps().item<float>(), 5);
  EXPECT_EQ(ours.stopped().item<float>(), 1);
}

}  // namespace
}  // namespace darope
