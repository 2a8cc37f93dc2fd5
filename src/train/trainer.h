#pragma once
#include <filesystem>
#include <functional>

#include "data/dataset.h"
#include "model/decoder.h"
#include "model/hugging_face.h"
#include "runs/run_folder.h"
#include "train/config.h"

namespace darope {

struct TrainReport {
  bool diverged = false;
  int64_t steps = 0, tokens = 0;  // good steps, with those before a resume
  double seconds = 0;             // of training, with those before a resume
};

struct TrainHooks {
  // Hears the step it goes on from, once all is loaded and before any file changes.
  std::function<void(int64_t)> on_begin = {};
  std::function<void(int64_t)> on_step = {};  // hears the number of finished steps
  // The mean loss on validation data; at the lowest so far the weights go to best/.
  std::function<double()> validate = {};
  DocumentIds ids = {};                   // for readers of the checkpoints
  std::filesystem::path begin_from = {};  // a checkpoint to go on from where the folder has none of its own
  std::string settings = {};              // of the run, kept in each checkpoint
};

// Trains in a run's folder: logs and checkpoints. Goes on from the newest checkpoint there, bit for bit as if
// it had never stopped. A signal saves and throws; a loss that is not finite saves the last good weights and
// says so in the report.
TrainReport train(Decoder& model, const TrainStream& data, const TrainConfig& config, const RunFolder& folder,
                  const TrainHooks& hooks = {});

}  // namespace darope
