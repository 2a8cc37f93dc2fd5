#pragma once
#include <memory>

#include "experiments/run.h"
#include "model/decoder.h"
#include "runs/run_folder.h"

namespace darope {

// A run's folder read back: its config and the model with the weights of one of its checkpoints.
struct SavedRun {
  RunConfig config;
  std::filesystem::path checkpoint;
  int64_t step = 0;
  std::unique_ptr<Decoder> model;
};

struct Which {
  std::optional<int64_t> step = std::nullopt;  // null: the newest
  bool best = false;                           // that of the lowest validation loss
  std::string encoding = "";  // in place of the trained one, where the weights fit: yarn:factor=4 for rope
};
SavedRun open_run(const RunFolder& folder, const Which& which,
                  const std::vector<std::string>& overrides = {});

}  // namespace darope
