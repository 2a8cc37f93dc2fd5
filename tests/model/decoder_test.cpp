#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace darope {
namespace {

// Every one that is trained, and some with options or beside another.
std::vector<std::string> trained_encodings() {
  std::vector<std::string> names{"nope-window:window=3", "learned;rope", "pope:delta_init=uniform"};
  for (const Spec& each : encodings())
    if (each.traits.trains) names.emplace_back(each.traits.name);
  return names;
}
const std::vector<std::string> kEncodings = trained_encodings();

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
  for (const std::string& encoding : kEncodings)
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
  EXPECT_NEAR(model.weights().leaves()[plan.layers[0].feed_forward_weights[1]].std().item<double>(), 0.01,
              0.001);
  EXPECT_NEAR(model.weights().leaves()[plan.layers[0].encoding_weights[0]].std().item<double>(), 0.1, 0.02);
  config.style = "lingua";
  Decoder lingua(config, at::kCPU);
  const Tensor up = lingua.weights().leaves()[plan.layers[0].feed_forward_weights[0]];
  const double deviation = 1 / std::sqrt(128.0);
  EXPECT_NEAR(up.std().item<double>(), 0.9866 * deviation,
              0.02 * deviation);  // of a normal cut at three deviations
  EXPECT_LE(up.abs().max().item<double>(), 3 * deviation);
}

// The loss along a random direction of each weight, by central differences in double.
TEST(Decoder, GradientsAgreeWithDifferences) {
  for (const char* style : {"nanogpt", "lingua"})
    for (const std::string& encoding : kEncodings) {
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
        const bool shifts_all = model.plan().weights[i].parts[0].name.ends_with("fire.b2");  // by as much
        if (model.plan().weights[i].of_encoding && !shifts_all) {
          EXPECT_NE(leaf.grad().abs().max().item<double>(), 0);
        }
      }
    }
}

TEST(Decoder, LooksAtThePastOnly) {
  for (const std::string& encoding : kEncodings) {
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

// Two documents in a row are read as each alone would be.
TEST(Decoder, ReadsPackedDocumentsAsEachAlone) {
  for (const std::string& encoding : kEncodings) {
    SCOPED_TRACE(encoding);
    Decoder model(small(encoding), at::kCPU, at::kDouble);
    const at::NoGradGuard no_grad;
    const Batch batch = some_batch();
    const Tensor ids = at::tensor({4, 4, 4, 9, 9, 9, 9}, at::kLong).expand({2, 7});
    const Tensor packed = model.hidden(batch.tokens, {}, {.documents = ids}).view({2, 7, -1});
    for (const auto& [begin, length] : {std::pair(0, 3), std::pair(3, 4)}) {
      const Tensor alone = model.hidden(batch.tokens.narrow(1, begin, length), {}).view({2, length, -1});
      EXPECT_TRUE(at::allclose(packed.narrow(1, begin, length), alone, 1e-10, 1e-10));
    }
    const Tensor whole = model.hidden(batch.tokens, {}).view({2, 7, -1});
    EXPECT_FALSE(at::allclose(packed.narrow(1, 3, 4), whole.narrow(1, 3, 4), 1e-4, 1e-4));
  }
}

// Positions go on where the cache ends, also beyond the training length.
TEST(Decoder, ReadsOnBehindACacheAsInOnePass) {
  for (const std::string& encoding : kEncodings) {
    SCOPED_TRACE(encoding);
    DecoderConfig config = small(encoding);
    config.max_seqlen = 4;
    Decoder model(config, at::kCPU, at::kDouble);
    const at::NoGradGuard no_grad;
    const Tensor tokens = some_batch().tokens,
                 whole = model.logits(model.hidden(tokens, {})).view({2, 7, 11});
    Cache cache{.capacity = 7};
    int64_t read = 0;
    for (const int64_t more : {2, 1, 3, 1}) {
      const Tensor next = model.next(tokens.narrow(1, read, more), cache);
      read += more;
      EXPECT_TRUE(at::allclose(next, whole.select(1, read - 1), 1e-10, 1e-10)) << "behind token " << read;
    }
  }
}

// Batches hand their documents on, to any device and to the loss.
TEST(Decoder, LossAndNllSeeDocuments) {
  Decoder model(small("rope"), at::kCPU, at::kDouble);
  Batch batch = some_batch();
  const double open = model.loss(batch).item<double>(), open_nll = model.nll(batch).sum().item<double>();
  batch.documents = at::tensor({4, 4, 4, 9, 9, 9, 9}, at::kLong).expand({2, 7}).contiguous();
  const Batch moved = batch.to(at::kCPU);
  EXPECT_GT(std::abs(model.loss(moved).item<double>() - open), 1e-4);
  EXPECT_GT(std::abs(model.nll(moved).sum().item<double>() - open_nll), 1e-4);
  Batch buffer = batch.map([](const Tensor& x) { return x.clone(); });
  buffer.documents.zero_();
  EXPECT_NEAR(model.loss(buffer).item<double>(), open, 1e-12);
  buffer.copy_from(batch);
  EXPECT_EQ(model.loss(buffer).item<double>(), model.loss(batch).item<double>());
}

// A feed-forward part of another kind is a row like those of the table: its weights are in the plan, and its
// own term in the loss and its gradient, but not in what is scored.
TEST(Decoder, TakesOtherFeedForwardPartsAndTheirTermsOfTheLoss) {
  static constexpr double kTerm = 0.125;
  static const FeedForward own{
      .name = "squares",
      .activation = "square",
      .hidden = [](const DecoderConfig& c) { return c.dim; },
      .matrices = [](const DecoderConfig& c) -> std::vector<Matrix> {
        return {{{{"square_proj.weight", c.dim}}, c.dim, true}};
      },
      .run = [](const Tensor& x, const std::vector<Tensor>& w) -> FeedForward::Output {
        return {at::matmul(x, w[0].t()).pow(2), kTerm * w[0].sum()};
      }};
  const DecoderConfig config = small("rope");
  Plan plan(config);
  for (Plan::Layer& layer : plan.layers) {
    layer.feed_forward = &own;
    layer.feed_forward_weights.resize(1);
    plan.weights[layer.feed_forward_weights[0]] = {
        .parts = {{"square", {16, 16}, Part::Start::normal, 0, 0.1}}, .shape = {16, 16}};
  }
  Decoder model(config, plan, at::kCPU, at::kDouble);
  const Batch batch = some_batch();
  const Tensor nll = model.nll(batch), loss = model.loss(batch);
  const Tensor &first = model.weights().leaves()[plan.layers[0].feed_forward_weights[0]],
               &second = model.weights().leaves()[plan.layers[1].feed_forward_weights[0]];
  const double mean = ((nll * batch.weight).sum() / batch.weight.sum()).item<double>(),
               terms = kTerm * (first.sum() + second.sum()).item<double>();
  EXPECT_NE(terms, 0);
  EXPECT_NEAR(loss.item<double>(), mean + terms, 1e-6);  // shares of the weight are float32
  loss.backward();
  const Tensor with_terms = first.grad().clone();
  first.mutable_grad().zero_();
  ((model.nll(batch) * batch.weight).sum() / batch.weight.sum()).backward();
  EXPECT_TRUE(at::allclose(with_terms - first.grad(), at::full({16, 16}, kTerm, at::kDouble), 1e-5, 0));
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
