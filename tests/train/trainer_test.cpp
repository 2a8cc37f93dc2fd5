#include "train/trainer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/signals.h"
#include "data/open.h"
#include "runs/checkpoint_dir.h"
#include "scratch.h"
#include "small.h"

namespace darope {
namespace {

struct Outcome {
  std::string model, optimizer;  // bytes of the checkpoint
  std::vector<double> losses, rates, tokens;
};

Outcome outcome_of(const std::filesystem::path& folder) {
  Outcome out;
  const std::filesystem::path newest = newest_checkpoint(folder / "checkpoints")->folder;
  out.model = read_file(newest / "model.safetensors");
  out.optimizer = read_file(newest / "optim.safetensors");
  const std::string metrics = read_file(folder / "metrics.jsonl");
  for (size_t begin = 0, end; (end = metrics.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json line = parse_json(metrics.substr(begin, end - begin), "metrics");
    out.losses.push_back(line.at("loss/out"));
    out.rates.push_back(line.at("optim/lr"));
    out.tokens.push_back(line.at("optim/total_tokens"));
  }
  return out;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_TRUE(a.model == b.model) << "weights differ";
  EXPECT_TRUE(a.optimizer == b.optimizer) << "moments differ";
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.rates, b.rates);
  EXPECT_EQ(a.tokens, b.tokens);
}

Outcome train_whole(const DecoderConfig& model_config, const TrainConfig& config) {
  const Scratch folder;
  Decoder model(model_config, at::kCPU);
  train(model, *reversing().train, config, folder.path());
  return outcome_of(folder.path());
}

// Stops by a signal after `stop` steps and goes on in a new model.
Outcome train_in_two(const DecoderConfig& model_config, const TrainConfig& config, int64_t stop) {
  const Scratch folder;
  {
    Decoder model(model_config, at::kCPU);
    watch_signals();
    try {
      train(model, *reversing().train, config, folder.path(), {.on_step = [&](int64_t done) {
              if (done == stop) std::raise(SIGTERM);
            }});
      ADD_FAILURE() << "the signal was not heard";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), kPreempted);
    }
  }
  EXPECT_EQ(newest_checkpoint(folder / "checkpoints")->step, stop);
  watch_signals();
  Decoder model(model_config, at::kCPU);
  train(model, *reversing().train, config, folder.path());
  return outcome_of(folder.path());
}

TEST(Trainer, TwoRunsAreBitEqual) {
  expect_same(train_whole(small("darope"), twenty_steps()), train_whole(small("darope"), twenty_steps()));
}

TEST(Trainer, AResumedRunEqualsAnUndisturbedOne) {
  TrainConfig config = twenty_steps();
  for (const char* encoding : {"nope", "rope", "hope", "cope", "pope", "darope"}) {
    SCOPED_TRACE(encoding);
    expect_same(train_whole(small(encoding), config), train_in_two(small(encoding), config, 7));
  }
}

TEST(Trainer, ResumesWithAccumulationDropoutAndLingua) {
  TrainConfig config = twenty_steps();
  config.grad_acc_steps = 3, config.logging.freq = 4, config.checkpoint.dump.every = 5;
  DecoderConfig model = small("darope");
  model.dropout = 0.2;
  expect_same(train_whole(model, config), train_in_two(model, config, 11));
  model.style = "lingua", model.hidden_multiple = 8;
  expect_same(train_whole(model, config), train_in_two(model, config, 3));
}

TEST(Trainer, ACheckpointThatIsDamagedIsPassedOver) {
  TrainConfig config = twenty_steps();
  config.checkpoint.dump.every = 5, config.checkpoint.dump.keep = 4;
  const Scratch folder;
  {
    Decoder model(small("darope"), at::kCPU);
    train(model, *reversing().train, config, folder.path());
  }
  const std::filesystem::path newest = folder / "checkpoints" / "0000000020" / "model.safetensors";
  std::string bytes = read_file(newest);
  bytes[bytes.size() / 2] ^= 1;
  write_file(newest, bytes);
  Decoder model(small("darope"), at::kCPU);
  train(model, *reversing().train, config, folder.path());
  expect_same(outcome_of(folder.path()), train_whole(small("darope"), config));
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

// Losses of validation as a test wants them: lower at each call but for `signal_at`, where a signal comes
// instead.
struct Validation {
  int calls = 0, signal_at = -1;
  double operator()() {
    if (++calls != signal_at) return 1.0 / calls;
    std::raise(SIGTERM);
    throw Error("stopped", kPreempted);
  }
};

std::vector<int64_t> validated(const std::filesystem::path& folder) {
  std::vector<int64_t> out;
  const std::string lines = read_file(folder / "metrics.eval.jsonl");
  for (size_t begin = 0, end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    out.push_back(parse_json(lines.substr(begin, end - begin), "metrics").at("global_step"));
  return out;
}

TEST(Trainer, ValidatesTheStepAtWhichItWasStoppedHoweverOften) {
  TrainConfig config = twenty_steps();
  config.validation.every = 8;
  const Dataset data = reversing();
  const Scratch folder;
  const auto life = [&](int signal_at) {
    watch_signals();
    Decoder model(small("darope"), at::kCPU);
    Validation validation{.signal_at = signal_at};
    train(model, *data.train, config, folder.path(), {.validate = std::ref(validation)});
  };
  EXPECT_THROW(life(1), Error);  // in the validation of step 8
  EXPECT_THROW(life(1), Error);  // and again
  life(-1);
  EXPECT_EQ(validated(folder.path()), (std::vector<int64_t>{8, 16, 20}));
  watch_signals();
}

TEST(Trainer, BestWeightsOfALifeThatLeftNoCheckpointGo) {
  TrainConfig config = twenty_steps();
  config.validation.every = 5;
  const Scratch folder;
  make_directories(folder / "best");
  write_checkpoint(folder / "best", 18,
                   [](CheckpointFiles& files) { files.write("model.safetensors", "of another life"); });
  Decoder model(small("darope"), at::kCPU);
  train(model, *reversing().train, config, folder.path(), {.validate = Validation{}});
  const std::vector<Checkpoint> best = list_checkpoints(folder / "best");
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].step, 20);
}

TEST(Trainer, HearsASignalBetweenTheBatchesOfAStep) {
  TrainConfig config = twenty_steps();
  config.grad_acc_steps = 1000, config.steps = 3;
  class Signalling final : public TrainStream {
   public:
    explicit Signalling(const TrainStream& inner) : inner_(inner) {}
    Batch at(int64_t index) const override {
      if (index == 1005) std::raise(SIGTERM);
      EXPECT_LE(index, 1005);
      return inner_.at(index % 50);
    }
    int64_t tokens(int64_t index) const override { return inner_.tokens(index % 50); }

   private:
    const TrainStream& inner_;
  };
  const Dataset data = reversing();
  const Scratch folder;
  watch_signals();
  Decoder model(small("rope"), at::kCPU);
  EXPECT_THROW(train(model, Signalling(*data.train), config, folder.path()), Error);
  watch_signals();
  EXPECT_EQ(newest_checkpoint(folder / "checkpoints")->step, 1);
}

TEST(Trainer, RefusesACheckpointBeyondItsSteps) {
  TrainConfig config = twenty_steps();
  const Scratch folder;
  Decoder model(small("rope"), at::kCPU);
  train(model, *reversing().train, config, folder.path());
  config.steps = 10;
  EXPECT_THROW(train(model, *reversing().train, config, folder.path()), Error);
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

Dataset growing(int64_t batches) {
  DataConfig config;
  config.task = "reverse_string", config.seq_len = 128, config.batch_size = 4, config.test_examples = 4;
  config.lengths = {"grow", 0.75, 1};
  return open_dataset(config, 3, batches);
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
  for (const char* encoding : {"rope", "cope", "darope"}) {
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

TEST(Trainer, ResumesWhileBatchesWiden) {
  const Dataset data = growing(40);
  TrainConfig config = twenty_steps();
  config.grad_acc_steps = 2;
  DecoderConfig shape = small("darope");
  shape.max_seqlen = 128;
  const Scratch whole, parts;
  Decoder one(shape, at::kCPU), two(shape, at::kCPU), three(shape, at::kCPU);
  train(one, *data.train, config, whole.path());
  watch_signals();
  EXPECT_THROW(train(two, *data.train, config, parts.path(),
                     {.on_step =
                          [](int64_t done) {
                            if (done == 9) std::raise(SIGTERM);
                          }}),
               Error);
  watch_signals();
  train(three, *data.train, config, parts.path());
  expect_same(outcome_of(parts.path()), outcome_of(whole.path()));
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
