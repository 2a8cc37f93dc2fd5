#pragma once
#include <filesystem>
#include <functional>

#include "data/dataset.h"
#include "model/decoder.h"
#include "train/schedule.h"

namespace darope {

struct DumpConfig {
  int64_t every = 0, keep = 2;
  void fields(auto&& visit) {
    visit("every", every, "steps between checkpoints; 0: only at the end and when stopped");
    visit("keep", keep, "newest checkpoints that stay");
  }
};
struct CheckpointConfig {
  DumpConfig dump;
  void fields(auto&& visit) { visit("dump", dump, ""); }
};
struct LoggingConfig {
  int64_t freq = 10;
  void fields(auto&& visit) { visit("freq", freq, "steps between lines of metrics.jsonl"); }
};

struct TrainConfig {
  int64_t seed = 42, steps = 1000, grad_acc_steps = 1;
  OptimConfig optim;
  CheckpointConfig checkpoint;
  LoggingConfig logging;

  void fields(auto&& visit) {
    visit("seed", seed, "of data order and dropout");
    visit("steps", steps, "optimizer steps");
    visit("grad_acc_steps", grad_acc_steps, "batches whose gradients make one step");
    visit("optim", optim, "");
    visit("checkpoint", checkpoint, "");
    visit("logging", logging, "");
  }
  void check() const;
};

struct TrainReport {
  bool diverged = false;
  int64_t steps = 0, tokens = 0;            // good steps, with those before a resume
  double seconds = 0;                       // of training, with those before a resume
};

// Trains in a run's folder: metrics.jsonl, tb/, checkpoints/. Goes on from the newest checkpoint there, bit for bit as if it had
// never stopped. A signal saves and throws; a loss that is not finite saves the last good weights and says so in the report.
// on_step hears the number of finished steps.
TrainReport train(Decoder& model, const TrainStream& data, const TrainConfig& config, const std::filesystem::path& folder,
                  const std::function<void(int64_t)>& on_step = {});

}  // namespace darope
