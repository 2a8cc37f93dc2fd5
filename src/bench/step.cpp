#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>

#include <chrono>

#include "base/random.h"
#include "bench/bench.h"
#include "bench/trace.h"
#include "data/open.h"
#include "experiments/run.h"
#include "experiments/scratch.h"
#include "train/device.h"
#include "train/trainer.h"

namespace darope {
namespace {

constexpr int64_t kTraced = 2;

// Tokens without meaning: a step takes the same time whatever it reads.
class RandomTokens final : public TrainStream {
 public:
  RandomTokens(int64_t batch, int64_t length, int64_t vocabulary)
      : batch_(batch), length_(length), vocabulary_(vocabulary) {}
  Batch at(int64_t) const override {
    const Tensor all = at::randint(vocabulary_, {batch_, length_ + 1}, at::kLong);
    return {all.narrow(1, 0, length_).contiguous(),
            {},
            all.narrow(1, 1, length_).flatten(),
            at::ones({batch_ * length_}, at::kFloat)};
  }
  int64_t tokens(int64_t) const override { return batch_ * length_; }

 private:
  int64_t batch_, length_, vocabulary_;
};

// Times the steps of a training by its hook.
Rounds time_training(const Shape& shape, const std::string& encoding, const TrainStream& data,
                     TrainConfig training, const Timing& timing) {
  const at::Device device = find_device(shape.run.device);
  release_memory(device);  // something else may have been timed before
  Decoder model(shape.model(encoding), device, find_dtype(shape.run.dtype, device));
  const int64_t timed = timing.rounds * timing.steps;
  training.steps = kUntimed + timed + (timing.trace.empty() ? 0 : kTraced);
  training.optim.warmup = 0, training.validation.every = 0;
  using Clock = std::chrono::steady_clock;
  Rounds out;
  Clock::time_point from;
  std::optional<Trace> trace;
  const auto on_step = [&](int64_t done) {
    const int64_t past = done - kUntimed;
    if (past < 0 || (past <= timed && past % timing.steps != 0)) return;
    synchronize(device);
    if (past > 0 && past <= timed) {
      out.seconds.push_back(std::chrono::duration<double>(Clock::now() - from).count() /
                            double(timing.steps));
      if (timing.between) timing.between();
    }
    if (past == timed && !timing.trace.empty()) trace.emplace();
    from = Clock::now();
  };
  const Scratch scratch;
  train(model, data, training, scratch.path(), {.on_step = on_step});
  if (trace) trace->save(timing.trace);
  if (device.is_cuda()) out.peak_bytes = peak_memory(device);
  return out;
}

Rounds time_step(const Shape& shape, const std::string& encoding, const Timing& timing) {
  TrainConfig bare = shape.run;
  bare.logging.freq = int64_t{1} << 40, bare.checkpoint.dump.every = 0;
  const DataConfig& data = shape.run.data;
  return time_training(shape, encoding,
                       RandomTokens(data.batch_size, data.seq_len, shape.run.model.vocab_size), bare, timing);
}

// A file to learn from where the shape has none.
DataConfig on_disk(const Shape& shape, const std::filesystem::path& folder) {
  DataConfig data = shape.run.data;
  if (!data.task.empty() || !data.path.empty() || !data.root_dir.empty()) return data;
  const int64_t most = std::min<int64_t>(shape.run.model.vocab_size, 1 << 16);
  constexpr int64_t kSequences = 200;  // enough for the test that opening a file sets aside
  std::vector<uint16_t> ids(size_t(std::max(kSequences, 20 * data.batch_size) * data.seq_len));
  Random random(1, "bench", 0);
  for (uint16_t& id : ids) id = uint16_t(random.below(uint64_t(most)));
  data.path = folder / "tokens.bin";
  write_file(data.path, {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(uint16_t)});
  return data;
}

Rounds time_loop(const Shape& shape, const std::string& encoding, const Timing& timing) {
  const Scratch scratch;
  TrainConfig whole = shape.run;
  whole.checkpoint.dump.every = timing.steps;
  const int64_t batches = (kUntimed + timing.rounds * timing.steps) * whole.grad_acc_steps;
  const Dataset data = open_dataset(on_disk(shape, scratch.path()), uint64_t(whole.seed), batches);
  return time_training(shape, encoding, *data.train, whole, timing);
}

Trial trial_of(const Shape& shape, const std::string& encoding, const char* what, bool beside,
               Rounds (*time)(const Shape&, const std::string&, const Timing&)) {
  const DataConfig& data = shape.run.data;
  return {.encoding = encoding,
          .what = what,
          .batch = data.batch_size,
          .length = data.seq_len,
          .tokens = double(data.batch_size * data.seq_len * shape.run.grad_acc_steps),
          .cost = shape.training(),
          .time = [=](const Timing& timing) { return time(shape, encoding, timing); },
          .beside = beside};
}

}  // namespace

std::vector<Trial> step_trials(const Shape& shape, const std::vector<std::string>& encodings) {
  std::vector<Trial> out;
  for (const std::string& each : encodings) out.push_back(trial_of(shape, each, "", false, time_step));
  return out;
}

std::vector<Trial> loop_trials(const Shape& shape, const std::vector<std::string>& encodings) {
  std::vector<Trial> out;
  for (const std::string& each : encodings) {
    out.push_back(trial_of(shape, each, "bare step", false, time_step));
    out.push_back(trial_of(shape, each, "whole loop", true, time_loop));
  }
  return out;
}

}  // namespace darope
