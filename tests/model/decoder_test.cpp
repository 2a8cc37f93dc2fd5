#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace darope {
namespace {

const char* const kEncodings[] = {"nope",
                                  "rope",
                                  "hope",
                                  "cope",
                                  "pope:delta_init=uniform",
                                  "darope",
                                  "darope-no-prior",
                                  "darope-fixed-alpha",
                                  "darope-per-band",
                                  "darope-dynamic"};

DecoderConfig small(const std::string& encoding, const std::string& style = "nanogpt") {
  DecoderConfig config;
  config.style = style, config.encoding = encoding;
  config.dim = 16, config.n_layers = 2, config.n_heads = 2, config.vocab_size = 11, config.max_seqlen = 64,
  config.hidden_multiple = 8;
  config.init = "fan_in";
  return config;
}

Batch some_batch(int64_t rows = 2, int64_t length = 7) {
  std::vector<int64_t> tokens, targets;
  Random random(5, "test");
  for (int64_t i = 0; i < rows * length; ++i)
    tokens.push_back(random.between(0, 10)), targets.push_back(random.between(0, 10));
  const std::vector<int64_t> places = {3, 4, 5, 6, 0, 9, 10, 13};
  return {at::tensor(tokens, at::kLong).view({rows, length}), at::tensor(places, at::kLong),
          at::tensor(std::vector<int64_t>(targets.begin(), targets.begin() + 8), at::kLong),
          at::tensor({1.f, 1.f, 2.f, 0.f, 1.f, 1.f, 1.f, 0.5f})};
}

TEST(Decoder, StartsSharedWeightsAlikeWhateverTheEncoding) {
  const std::string expected = Decoder(small("nope"), at::kCPU).weights().shared_hash();
  for (const char* encoding : kEncodings)
    EXPECT_EQ(Decoder(small(encoding), at::kCPU).weights().shared_hash(), expected) << encoding;
  EXPECT_EQ(Decoder(small("rope:base=10;darope"), at::kCPU).weights().shared_hash(), expected);
  DecoderConfig other = small("nope");
  other.seed = 43;
  EXPECT_NE(Decoder(other, at::kCPU).weights().shared_hash(), expected);
}

TEST(Decoder, DrawsWeightsWithTheStylesDeviation) {
  DecoderConfig config = small("darope");
  config.dim = 128, config.init = "";
  Decoder model(config, at::kCPU);
  const Plan& plan = model.plan();
  EXPECT_NEAR(model.weights().leaves()[plan.layers[0].qkv].std().item<double>(), 0.02, 0.001);
  EXPECT_NEAR(model.weights().leaves()[plan.layers[0].down].std().item<double>(), 0.01, 0.001);
  EXPECT_NEAR(model.weights().leaves()[plan.layers[0].encoding_weights[0]].std().item<double>(), 0.1, 0.02);
  config.style = "lingua";
  Decoder lingua(config, at::kCPU);
  const Tensor up = lingua.weights().leaves()[plan.layers[0].up];
  const double deviation = 1 / std::sqrt(128.0);
  EXPECT_NEAR(up.std().item<double>(), 0.9866 * deviation,
              0.02 * deviation);  // of a normal cut at three deviations
  EXPECT_LE(up.abs().max().item<double>(), 3 * deviation);
}

// The loss along a random direction of each weight, by central differences in double.
TEST(Decoder, GradientsAgreeWithDifferences) {
  for (const char* style : {"nanogpt", "lingua"})
    for (const char* encoding : kEncodings) {
      Decoder model(small(encoding, style), at::kCPU, at::kDouble);
      const Batch batch = some_batch();
      model.loss(batch).backward();
      for (size_t i = 0; i < model.plan().weights.size(); ++i) {
        SCOPED_TRACE(std::string(style) + " " + encoding + " " + model.plan().weights[i].parts[0].name);
        const Tensor& leaf = model.weights().leaves()[i];
        const at::NoGradGuard no_grad;
        std::vector<double> values;
        Random random(9, "direction", i);
        for (int64_t j = 0; j < leaf.numel(); ++j) values.push_back(random.normal());
        const Tensor direction = at::tensor(values, at::kDouble).view(leaf.sizes()),
                     start = leaf.detach().clone();
        constexpr double h = 1e-6;
        const auto loss_at = [&](double t) {
          leaf.detach().copy_(start + t * direction);
          return model.loss(batch).item<double>();
        };
        const double numeric = (loss_at(h) - loss_at(-h)) / (2 * h),
                     exact = (leaf.grad() * direction).sum().item<double>();
        leaf.detach().copy_(start);
        EXPECT_NEAR(exact, numeric, 1e-7 + 1e-6 * std::abs(numeric));
        if (model.plan().weights[i].of_encoding) {
          EXPECT_NE(leaf.grad().abs().max().item<double>(), 0);
        }
      }
    }
}

TEST(Decoder, LooksAtThePastOnly) {
  for (const char* encoding : kEncodings) {
    Decoder model(small(encoding), at::kCPU);
    const at::NoGradGuard no_grad;
    const Batch batch = some_batch();
    const Tensor all = at::tensor({0, 1, 2, 3, 4, 5, 6}, at::kLong), before = model.hidden(batch.tokens, all);
    const Tensor changed = batch.tokens.clone();
    changed[0][4].fill_((changed[0][4].item<int64_t>() + 1) % 11);
    const Tensor after = model.hidden(changed, all);
    EXPECT_TRUE(at::allclose(before.narrow(0, 0, 4), after.narrow(0, 0, 4), 1e-6, 1e-6)) << encoding;
    EXPECT_FALSE(at::allclose(before.narrow(0, 4, 1), after.narrow(0, 4, 1), 1e-3, 1e-3)) << encoding;
  }
}

TEST(Decoder, WeighsWhatIsScored) {
  Decoder model(small("rope"), at::kCPU);
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const Tensor nll = model.nll(batch);
  double sum = 0, weight = 0;
  for (int64_t i = 0; i < 8; ++i)
    sum += nll[i].item<double>() * batch.weight[i].item<double>(), weight += batch.weight[i].item<double>();
  EXPECT_NEAR(model.loss(batch).item<double>(), sum / weight, 1e-5);
}

TEST(Decoder, InBfloat16StaysNearFloat) {
  Decoder exact(small("darope"), at::kCPU), rough(small("darope"), at::kCPU, at::kBFloat16);
  EXPECT_NEAR(exact.loss(some_batch()).item<double>(), rough.loss(some_batch()).item<double>(), 0.05);
  exact.loss(some_batch()).backward();
  rough.loss(some_batch()).backward();
  for (size_t i = 0; i < exact.plan().weights.size(); ++i) {
    const Tensor one = exact.weights().leaves()[i].grad(), two = rough.weights().leaves()[i].grad();
    EXPECT_EQ(two.scalar_type(), exact.plan().weights[i].of_encoding ? at::kFloat : at::kBFloat16);
    EXPECT_LT((one - two).norm().item<double>(), 0.1 * one.norm().item<double>())
        << exact.plan().weights[i].parts[0].name;
  }
}

}  // namespace
}  // namespace darope
