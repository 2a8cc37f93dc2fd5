#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/signals.h"
#include "outcome.h"
#include "train/ahead.h"

namespace darope {
namespace {

TEST(Trainer, TwoRunsAreBitEqual) {
  expect_same(train_whole(small("darope"), twenty_steps()), train_whole(small("darope"), twenty_steps()));
}

// A stream whose batch `bad` cannot be learnt from.
class Poisoned final : public TrainStream {
 public:
  Poisoned(const TrainStream& inner, int64_t bad) : inner_(inner), bad_(bad) {}
  Batch at(int64_t index) const override {
    Batch batch = inner_.at(index);
    if (index == bad_) batch.weight.fill_(std::numeric_limits<double>::quiet_NaN());
    return batch;
  }
  int64_t tokens(int64_t index) const override { return inner_.tokens(index); }

 private:
  const TrainStream& inner_;
  int64_t bad_;
};

TEST(Trainer, KeepsTheWeightsBeforeALossThatIsNotFinite) {
  TrainConfig config = twenty_steps();
  const Dataset data = reversing();
  const Scratch poisoned, stopped;
  Decoder model(small("darope"), at::kCPU), other(small("darope"), at::kCPU);
  config.logging.freq = 5;  // noticed two steps late
  const TrainReport report = train(model, Poisoned(*data.train, 7), config, poisoned.path());
  EXPECT_TRUE(report.diverged);
  EXPECT_EQ(report.steps, 7);
  watch_signals();
  EXPECT_THROW(train(other, *data.train, config, stopped.path(),
                     {.on_step =
                          [](int64_t done) {
                            if (done == 7) std::raise(SIGTERM);
                          }}),
               Error);
  watch_signals();
  EXPECT_TRUE(outcome_of(poisoned.path()).model == outcome_of(stopped.path()).model);
  EXPECT_TRUE(outcome_of(poisoned.path()).optimizer == outcome_of(stopped.path()).optimizer);
}

class Refusing final : public TrainStream {
 public:
  Refusing(const TrainStream& inner, int64_t bad) : inner_(inner), bad_(bad) {}
  Batch at(int64_t index) const override {
    if (index == bad_) throw Error("batch 7 cannot be read");
    return inner_.at(index);
  }
  int64_t tokens(int64_t index) const override { return inner_.tokens(index); }

 private:
  const TrainStream& inner_;
  int64_t bad_;
};

TEST(Ahead, GivesTheBatchesOfTheStreamUpToOneThatFails) {
  const Dataset data = growing(20);
  const Refusing stream(*data.train, 7);
  Ahead ahead(stream, 2, 20);
  for (int64_t i = 2; i < 7; ++i) {
    const Batch got = ahead.next(), expected = data.train->at(i);
    for (Tensor Batch::* part : {&Batch::tokens, &Batch::rows, &Batch::targets, &Batch::weight})
      EXPECT_TRUE((got.*part).equal(expected.*part)) << i;
  }
  expect_contains(error_of([&] { ahead.next(); }), "batch 7 cannot be read");
}

TEST(Ahead, EndsThoughNobodyAsksForMore) {
  const Dataset data = reversing();
  Ahead unasked(*data.train, 0, 1 << 30), asked(*data.train, 0, 1 << 30);
  for (int i = 0; i < 20; ++i) asked.next();
}

// Random tokens in batches of `size` examples out of one endless list. Example i scores its first 1 + 7 i %
// 24 places, by weights of its own, so that no two batches count the same.
class Places final : public TrainStream {
 public:
  explicit Places(int64_t size) : size_(size) {}
  Batch at(int64_t index) const override {
    std::vector<Tensor> examples, weights;
    for (int64_t i = index * size_; i < (index + 1) * size_; ++i) {
      at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t(i));
      examples.push_back(at::randint(256, {1, 25}, generator, at::kLong));
      weights.push_back(at::rand({24}, generator) * at::arange(24).le(7 * i % 24));
    }
    const Tensor tokens = at::cat(examples);
    return {
        tokens.narrow(1, 0, 24).contiguous(), {}, tokens.narrow(1, 1, 24).reshape({-1}), at::cat(weights)};
  }
  int64_t tokens(int64_t) const override { return size_ * 24; }

 private:
  int64_t size_;
};

// Adam hardly sees the size of a gradient; with so large an epsilon it is plain descent, which does.
TEST(Trainer, AccumulatesAsOneLargerBatch) {
  TrainConfig config = twenty_steps();
  config.optim.clip = 0, config.optim.beta1 = 0, config.optim.beta2 = 0, config.optim.epsilon = 1e3,
  config.optim.lr = 100, config.optim.weight_decay = 0;
  const Scratch a, b;
  Decoder one(small("rope"), at::kCPU, at::kDouble), two(small("rope"), at::kCPU, at::kDouble),
      start(small("rope"), at::kCPU, at::kDouble);
  train(one, Places(8), config, a.path());
  config.grad_acc_steps = 4;
  train(two, Places(2), config, b.path());
  const Tensor moved = one.weights().flat() - start.weights().flat(),
               apart = two.weights().flat() - one.weights().flat();
  EXPECT_GT(moved.abs().max().item<double>(), 1e-3);
  EXPECT_LT(apart.abs().max().item<double>(), 1e-10 * moved.abs().max().item<double>());
}

// put_ is such an operator on a CPU; here it stands for one that a model might call.
TEST(Trainer, DeterministicStopsAtAnOperatorThatIsNot) {
  TrainConfig config = twenty_steps();
  const auto put = [](int64_t) { at::zeros({3}).put_(at::zeros({1}, at::kLong), at::ones({1})); };
  const auto life = [&] {
    const Scratch folder;
    Decoder model(small("rope"), at::kCPU);
    train(model, *reversing().train, config, folder.path(), {.on_step = put});
  };
  life();
  config.deterministic = true;
  expect_contains(error_of(life), "deterministic: put_ has no version");
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST(Trainer, ProjectsPhasesAfterEachStep) {
  Decoder model(small("pope"), at::kCPU);
  TrainConfig config = twenty_steps();
  config.optim.lr = 0.1;
  const Scratch folder;
  train(model, *reversing().train, config, folder.path());
  const Tensor delta = model.weights().leaves()[model.plan().layers[0].encoding_weights[0]];
  EXPECT_LE(delta.max().item<double>(), 0);
  EXPECT_GE(delta.min().item<double>(), -2 * M_PI - 1e-6);
  EXPECT_LT(delta.min().item<double>(), 0);
}

// A stream's batches, padded to the shape of its last.
class Padded final : public TrainStream {
 public:
  explicit Padded(const TrainStream& inner) : inner_(inner) {}
  Batch at(int64_t index) const override {
    Batch batch = inner_.at(index);
    const int64_t width = batch.tokens.size(1);
    const Tensor row = batch.rows.div(width, "floor");
    batch.rows = row * 128 + (batch.rows - row * width);
    const auto to_width = [](const Tensor& x, int64_t all) {
      return at::constant_pad_nd(x, {0, all - x.size(-1)});
    };
    const int64_t scored = inner_.at(19).rows.numel();
    return {to_width(batch.tokens, 128), to_width(batch.rows, scored), to_width(batch.targets, scored),
            to_width(batch.weight, scored)};
  }
  int64_t tokens(int64_t) const override { return 4 * 128; }

 private:
  const TrainStream& inner_;
};

TEST(Trainer, NarrowBatchesTrainAsPaddedOnesDo) {
  const Dataset data = growing(20);
  std::set<int64_t> sizes;
  for (int64_t i = 0; i < 20; ++i) {
    sizes.insert(data.train->tokens(i));
    EXPECT_EQ(data.train->at(i).tokens.numel(), data.train->tokens(i));
  }
  EXPECT_EQ(sizes, (std::set<int64_t>{4 * 16, 4 * 32, 4 * 64, 4 * 128}));
  for (const char* encoding : {"learned", "rope", "cope", "darope"}) {
    DecoderConfig config = small(encoding);
    config.max_seqlen = 128;
    Decoder narrow(config, at::kCPU, at::kDouble), wide(config, at::kCPU, at::kDouble);
    const Scratch a, b;
    const TrainReport report = train(narrow, *data.train, twenty_steps(), a.path());
    train(wide, Padded(*data.train), twenty_steps(), b.path());
    EXPECT_LT((narrow.weights().flat() - wide.weights().flat()).abs().max().item<double>(), 1e-6) << encoding;
    EXPECT_EQ(report.tokens, tokens_before(*data.train, 20));
    EXPECT_EQ(outcome_of(a.path()).tokens.back(), double(report.tokens));
  }
}

// The first 20 losses of each encoding as they were when the file was made. DAROPE_WRITE_GOLDEN=1 makes it
// anew.
TEST(Trainer, LossCurvesStayAsTheyWere) {
  const std::filesystem::path file = "tests/golden/loss_curves.json";
  const bool write = std::getenv("DAROPE_WRITE_GOLDEN") != nullptr;
  const Json golden = write ? Json::object() : parse_json(read_file(file), file.string());
  nlohmann::ordered_json fresh;
  for (const char* encoding : {"nope", "rope", "hope", "cope", "pope", "darope"}) {
    const std::vector<double> losses = train_whole(small(encoding), twenty_steps()).losses;
    fresh[encoding] = losses;
    if (write) continue;
    ASSERT_EQ(losses.size(), golden.at(encoding).size());
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], golden.at(encoding)[i].get<double>(), 1e-4) << encoding << " at step " << i + 1;
  }
  if (write) write_file(file, fresh.dump() + "\n");
}

}  // namespace
}  // namespace darope
