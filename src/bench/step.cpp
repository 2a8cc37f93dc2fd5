#include "bench/step.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/names.h"
#include "bench/trace.h"
#include "data/dataset.h"
#include "experiments/run.h"
#include "experiments/scratch.h"
#include "train/device.h"
#include "train/trainer.h"

namespace darope {
namespace {

constexpr int64_t kUntimed = 6;  // the first steps choose kernels and, on a GPU, record the step
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

DecoderConfig language_model(int64_t dim, int64_t layers, int64_t heads) {
  DecoderConfig model;
  model.dim = dim, model.n_layers = layers, model.n_heads = heads;
  model.vocab_size = 100'352, model.tied = false;
  return model;
}
DecoderConfig small_model(int64_t dim, int64_t layers, int64_t heads) {
  DecoderConfig model;
  model.style = "nanogpt", model.dim = dim, model.n_layers = layers, model.n_heads = heads;
  model.vocab_size = 256;
  return model;
}

}  // namespace

const std::vector<StepShape>& step_shapes() {
  static const std::vector<StepShape> shapes{
      {"124m", language_model(768, 12, 12), 16, 4096}, {"350m", language_model(1024, 24, 16), 8, 4096},
      {"1b", language_model(2048, 25, 16), 4, 4096},   {"jsb", small_model(192, 8, 6), 4, 2048},
      {"task", small_model(256, 4, 4), 64, 256},       {"sleep", small_model(256, 6, 8), 16, 1024},
  };
  return shapes;
}

const StepShape& find_step_shape(const std::string& name) {
  std::vector<std::string> known;
  for (const StepShape& each : step_shapes()) {
    if (each.name == name) return each;
    known.push_back(each.name);
  }
  throw Error(unknown_name("size", name, known));
}

double StepShape::operations() const {
  const double width = double(model.dim), layers = double(model.n_layers);
  double feed_forward_rows = 0;  // weights of the feed-forward part, over the width
  for (const Matrix& matrix : feed_forward(model.feed_forward_name()).matrices(model))
    for (const auto& [part, rows] : matrix.names_and_rows)
      feed_forward_rows += double(rows) * double(matrix.inputs) / width;
  const double kv = double(model.kv_heads() * model.head_dim());
  const double weights =
      layers * width * (2 * width + 2 * kv + feed_forward_rows) + double(model.vocab_size) * width;
  return double(tokens()) * (6 * weights + 6 * layers * double(length) * width);
}

double StepTime::best() const { return *std::min_element(rounds.begin(), rounds.end()); }

StepTime time_step(const StepShape& shape, const StepTrial& trial) {
  const at::Device device = find_device(trial.device);
  DecoderConfig config = shape.model;
  config.encoding = trial.encoding, config.max_seqlen = shape.length;
  config.check();
  release_memory(device);  // another encoding may have been timed before
  Decoder model(config, device, find_dtype("auto", device));
  TrainConfig training;
  const int64_t timed = trial.rounds * trial.steps;
  training.steps = kUntimed + timed + (trial.trace.empty() ? 0 : kTraced);
  training.logging.freq = training.steps, training.optim.lr = 1e-4, training.optim.warmup = 0;
  using Clock = std::chrono::steady_clock;
  StepTime out;
  Clock::time_point from;
  std::optional<Trace> trace;
  const auto on_step = [&](int64_t done) {
    const int64_t past = done - kUntimed;
    if (past < 0 || (past <= timed && past % trial.steps != 0)) return;
    synchronize(device);
    if (past > 0 && past <= timed)
      out.rounds.push_back(std::chrono::duration<double>(Clock::now() - from).count() / double(trial.steps));
    if (past == timed && !trial.trace.empty()) trace.emplace();
    from = Clock::now();
  };
  const Scratch scratch;
  train(model, RandomTokens(shape.batch, shape.length, config.vocab_size), training, scratch.path(),
        {.on_step = on_step});
  if (trace) trace->save(trial.trace);
  out.peak_bytes = peak_memory(device);
  return out;
}

}  // namespace darope
