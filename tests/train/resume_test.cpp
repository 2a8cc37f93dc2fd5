#include <gtest/gtest.h>

#include <csignal>

#include "base/error.h"
#include "base/signals.h"
#include "outcome.h"

// A training that is stopped, killed or goes on from a checkpoint.
namespace darope {
namespace {

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

TEST(Resume, AResumedRunEqualsAnUndisturbedOne) {
  TrainConfig config = twenty_steps();
  for (const char* encoding : {"nope", "learned", "rope", "hope", "cope", "pope", "darope"}) {
    SCOPED_TRACE(encoding);
    expect_same(train_whole(small(encoding), config), train_in_two(small(encoding), config, 7));
  }
}

TEST(Resume, ResumesWithAccumulationDropoutAndLingua) {
  TrainConfig config = twenty_steps();
  config.grad_acc_steps = 3, config.logging.freq = 4, config.checkpoint.dump.every = 5;
  DecoderConfig model = small("darope");
  model.dropout = 0.2;
  expect_same(train_whole(model, config), train_in_two(model, config, 11));
  model.style = "lingua", model.hidden_multiple = 8;
  expect_same(train_whole(model, config), train_in_two(model, config, 3));
}

// Training goes on while a checkpoint is written.
TEST(Resume, ACheckpointHoldsTheWeightsOfItsStep) {
  TrainConfig config = twenty_steps();
  config.checkpoint.dump.every = 1, config.checkpoint.dump.keep = 20;
  const Scratch folder;
  Decoder model(small("darope"), at::kCPU), saved(small("darope"), at::kCPU);
  std::vector<Tensor> after{model.weights().flat().detach().clone()};
  train(model, *reversing().train, config, folder.path(),
        {.on_step = [&](int64_t) { after.push_back(model.weights().flat().detach().clone()); }});
  const std::vector<Checkpoint> all = list_checkpoints(folder / "checkpoints");
  ASSERT_EQ(all.size(), 20U);
  for (const Checkpoint& each : all) {
    saved.weights().read(SafetensorsFile(each.folder / kModelFile), saved.weights().flat());
    EXPECT_TRUE(saved.weights().flat().equal(after.at(size_t(each.step)))) << each.step;
  }
}

TEST(Resume, ASaveThatFailsEndsTheTraining) {
  TrainConfig config = twenty_steps();
  config.checkpoint.dump.every = 5;
  const Scratch folder;
  Decoder model(small("rope"), at::kCPU);
  int64_t reached = 0;
  const auto life = [&] {
    train(model, *reversing().train, config, folder.path(), {.on_step = [&](int64_t done) {
            reached = done;
            if (done == 4) write_file(folder / "checkpoints", "in the way");
          }});
  };
  expect_contains(error_of(life), "checkpoints");
  EXPECT_GE(reached, 5);
  EXPECT_LE(reached, 10);
}

TEST(Resume, ResumesWhileBatchesWiden) {
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

TEST(Resume, ACheckpointThatIsDamagedIsPassedOver) {
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

TEST(Resume, RefusesACheckpointBeyondItsSteps) {
  TrainConfig config = twenty_steps();
  const Scratch folder;
  Decoder model(small("rope"), at::kCPU);
  train(model, *reversing().train, config, folder.path());
  config.steps = 10;
  EXPECT_THROW(train(model, *reversing().train, config, folder.path()), Error);
}

TEST(Resume, HearsASignalBetweenTheBatchesOfAStep) {
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

TEST(Resume, ValidatesTheStepAtWhichItWasStoppedHoweverOften) {
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

TEST(Resume, BestWeightsOfALifeThatLeftNoCheckpointGo) {
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

}  // namespace
}  // namespace darope
