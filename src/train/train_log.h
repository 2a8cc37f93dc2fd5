#pragma once
#include "base/progress.h"
#include "base/tensorboard.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"

namespace darope {

// What a run writes while it trains: numbers for programs, lines for people, curves for TensorBoard.
class TrainLog {
 public:
  // Cuts off what an earlier life wrote beyond the step it goes on from, which may have to be validated yet.
  TrainLog(const RunFolder& folder, int64_t steps, int64_t first_step, bool validation_due);

  void step(int64_t step, const Scalars& scalars, int64_t tokens, const std::string& words);
  void validation(int64_t step, double loss);
  void say(const std::string& words);  // for people, behind the time
  void sync();

 private:
  MetricsLog validations_;
  EventFile events_;
  AppendFile text_;
  Progress progress_;
  MetricsLog metrics_;
};

}  // namespace darope
