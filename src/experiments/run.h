#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>

#include "data/dataset.h"
#include "settings/run.h"

namespace darope {

// How a run goes on from an earlier one.
struct Resume {
  std::filesystem::path from = {};           // a checkpoint to begin from where the run's folder has none
  std::vector<std::string> may_change = {};  // settings, or groups of them, that need not be as they were
};

// What the config learns from, once everything has been checked that can be seen without it.
Dataset open_data(const RunConfig& config);
void say_notes(const Dataset& data);            // on standard error, before a training
void check_examples(const DataConfig& config);  // an Error where data.test_examples would choose nothing
// The config with what follows from its data filled in, everything checked that can be seen without its
// folder.
RunConfig resolve(RunConfig config, const Dataset& data);

// Trains and evaluates in config.dump_dir. A folder that is there already is continued if its config is the
// same, and left alone if it is finished under that config. Returns the exit code: 0, or 4 for a run that
// diverged.
int run(RunConfig config, const Resume& resume = {});

std::string build_commit();  // what this program was built from

// cpu, cuda, cuda:1 or auto; a GPU becomes the current one.
at::Device find_device(const std::string& name);
std::vector<std::string> feed_forward_names();                          // that model.feed_forward may have
at::ScalarType find_dtype(const std::string& name, at::Device device);  // fp32, bf16, auto

}  // namespace darope
