#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include "allocations.h"
#include "outcome.h"

// What is computed again is the same bit for bit, and takes less memory meanwhile.
namespace darope {
namespace {

constexpr int64_t kBatch = 4, kLength = 24;

Batch some_tokens() {
  at::manual_seed(5);
  return {at::randint(256, {kBatch, kLength}, at::kLong),
          {},
          at::randint(256, {kBatch * kLength}, at::kLong),
          at::ones({kBatch * kLength})};
}

std::vector<Tensor> gradients(const DecoderConfig& config, at::ScalarType type, bool recompute,
                              int64_t batches) {
  Decoder model(config, at::kCPU, type);
  const Batch batch = some_tokens();
  std::vector<Tensor> out;
  for (int64_t i = 0; i < batches; ++i) {
    at::manual_seed(uint64_t(i));  // of dropout
    const Tensor loss = model.loss(batch, recompute);
    loss.backward();
    out.push_back(loss.detach());
    out.push_back(at::rand({1}));  // what is drawn next is what it would be
  }
  for (const Tensor& leaf : model.weights().leaves()) out.push_back(leaf.grad());
  return out;
}

TEST(Recompute, GivesTheSameBits) {
  for (const char* encoding : {"nope", "rope", "darope", "darope-dynamic", "pope", "cope", "alibi"})
    for (const char* style : {"lingua", "nanogpt"})
      for (const at::ScalarType type : {at::kFloat, at::kDouble})
        for (const double dropout : {0.0, 0.3}) {
          SCOPED_TRACE(testing::Message() << encoding << " " << style << " " << type << " " << dropout);
          DecoderConfig config = small(encoding);
          config.style = style, config.dropout = dropout, config.hidden_multiple = 8, config.n_layers = 3;
          const std::vector<Tensor> kept = gradients(config, type, false, 2),
                                    again = gradients(config, type, true, 2);
          ASSERT_EQ(kept.size(), again.size());
          for (size_t i = 0; i < kept.size(); ++i) {
            ASSERT_EQ(kept[i].defined(), again[i].defined()) << i;
            EXPECT_TRUE(!kept[i].defined() || at::equal(kept[i], again[i])) << i;
          }
        }
}

// Bytes that the loss holds on to for its backward pass.
int64_t held(const DecoderConfig& config, bool recompute) {
  const Decoder model(config, at::kCPU);
  const Batch batch = some_tokens();
  const Allocations count;
  const Tensor loss = model.loss(batch, recompute);
  return count.now();
}

TEST(Recompute, HoldsTwoTensorsALayer) {
  DecoderConfig config = small("rope");
  const auto of_layers = [&](int64_t layers, bool recompute) {
    config.n_layers = layers;
    return held(config, recompute);
  };
  const int64_t residual = kBatch * kLength * config.dim * int64_t(sizeof(float));
  EXPECT_EQ(of_layers(9, true) - of_layers(5, true), 4 * 2 * residual);
  EXPECT_GT(of_layers(9, false) - of_layers(5, false), 5 * 4 * 2 * residual);
}

// 20 steps without, with, and changed midway.
TEST(Recompute, TrainsToTheSameWeights) {
  DecoderConfig model_config = small("darope");
  model_config.dropout = 0.1;
  const Dataset data = reversing();
  const auto run = [&](const std::filesystem::path& folder, const std::string& recompute, int64_t stop_at) {
    TrainConfig config = twenty_steps();
    config.grad_acc_steps = 2, config.recompute = recompute;
    config.checkpoint.dump.every = 10;
    Decoder model(model_config, at::kCPU);
    struct Stop {};
    try {
      train(model, *data.train, config, folder, {.on_step = [&](int64_t done) {
              if (done == stop_at) throw Stop{};
            }});
    } catch (const Stop&) {
    }
  };
  const Scratch kept, again, changed;
  run(kept.path(), "none", -1);
  run(again.path(), "full", -1);
  run(changed.path(), "none", 15);
  run(changed.path(), "full", -1);
  expect_same(outcome_of(kept.path()), outcome_of(again.path()));
  expect_same(outcome_of(kept.path()), outcome_of(changed.path()));
}

}  // namespace
}  // namespace darope
