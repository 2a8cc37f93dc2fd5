#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>

#include "data/config.h"
#include "data/dataset.h"
#include "model/config.h"
#include "train/config.h"

namespace darope {

// Everything one training run depends on.
struct RunConfig : TrainConfig {
  std::string name = "run", dump_dir;
  std::string device = "auto", dtype = "auto";
  int64_t threads = 0;
  DecoderConfig model;
  DataConfig data;

  void fields(auto&& visit) {
    visit("name", name, "for people");
    visit("dump_dir", dump_dir, "the run's folder");
    visit("device", device, "cpu, cuda, or auto: cuda where there is one");
    visit("dtype", dtype, "of products: fp32, bf16, or auto: bf16 on cuda, fp32 on cpu");
    visit("threads", threads, "CPU threads; 0: all");
    TrainConfig::fields(visit);
    visit("model", model, "");
    visit("data", data, "");
  }
};

// How a run goes on from an earlier one.
struct Resume {
  std::filesystem::path from = {};           // a checkpoint to begin from where the run's folder has none
  std::vector<std::string> may_change = {};  // settings, or groups of them, that need not be as they were
};

// What the config learns from, once everything has been checked that can be seen without it.
Dataset open_data(const RunConfig& config);
// The config with what follows from its data filled in, everything checked that can be seen without its
// folder.
RunConfig resolve(RunConfig config, const Dataset& data);

// Trains and evaluates in config.dump_dir. A folder that is there already is continued if its config is the
// same, and left alone if it is finished under that config. Returns the exit code: 0, or 4 for a run that
// diverged.
int run(RunConfig config, const Resume& resume = {});

at::Device find_device(const std::string& name);                        // cpu, cuda, auto
at::ScalarType find_dtype(const std::string& name, at::Device device);  // fp32, bf16, auto

}  // namespace darope
