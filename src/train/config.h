#pragma once
#include <string>

#include "base/fields.h"
#include "train/schedule.h"

namespace darope {

struct DumpConfig {
  int64_t every = 0, keep = 2;
  void fields(auto&& visit) {
    visit("every", every, "steps between checkpoints; 0: only at the end and when stopped", {.least = 0});
    visit("keep", keep, "newest checkpoints that stay", {.least = 1});
  }
};
struct CheckpointConfig {
  DumpConfig dump;
  void fields(auto&& visit) { visit("dump", dump, ""); }
};
struct ValidationConfig {
  int64_t every = 0;
  void fields(auto&& visit) {
    visit("every", every, "steps between validations, which keep the best weights beside the last; 0: none",
          {.least = 0});
  }
};
struct LoggingConfig {
  int64_t freq = 10;
  void fields(auto&& visit) { visit("freq", freq, "steps between lines of the metrics", {.least = 1}); }
};

struct TrainConfig {
  int64_t seed = 42, steps = 1000, grad_acc_steps = 1;
  OptimConfig optim;
  CheckpointConfig checkpoint;
  ValidationConfig validation;
  LoggingConfig logging;
  std::string recompute = "none";
  bool deterministic = false, graph = true, allow_quadratic = false;

  void fields(auto&& visit) {
    visit("seed", seed, "of data order and dropout", {.least = 0});
    visit("steps", steps, "optimizer steps", {.least = 1, .most = 1 << 24});  // Adam counts in float32
    visit("grad_acc_steps", grad_acc_steps, "batches whose gradients make one step",
          {.least = 1, .most = 1 << 20});
    visit("optim", optim, "");
    visit("checkpoint", checkpoint, "");
    visit("validation", validation, "");
    visit("logging", logging, "");
    visit("recompute", recompute,
          "none: keep what the backward pass reads; full: only what each block begins with, and compute the "
          "rest again, for less memory and about a third more operations",
          {.names = {"none", "full"}});
    visit("deterministic", deterministic,
          "sum in a fixed order on a GPU too, so that a run can be repeated bit for bit there; stop where an "
          "operator cannot");
    visit("allow_quadratic", allow_quadratic,
          "train beyond 2048 tokens also where attention keeps a score for every pair of them");
    visit("graph", graph, "on a GPU, launch a step as one CUDA graph; false: kernel by kernel");
  }
  void check() const;
};

}  // namespace darope
