#pragma once
#include <chrono>
#include <cstdint>

#include "data/config.h"

namespace darope {

// What a trial trains on: batches of full width from the first, as the last ones of a run are.
inline DataConfig widest(DataConfig data) {
  data.lengths.kind = "uniform";
  return data;
}

// Seconds a step takes, in a trial of kSteps. The first ones choose kernels and, on a GPU, record the step:
// they do not count.
class StepTimer {
 public:
  static constexpr int64_t kSteps = 8, kUntimed = 5;
  void on_step(int64_t done) { (done <= kUntimed ? from_ : to_) = Clock::now(); }
  double a_step() const { return seconds(from_, to_) / double(kSteps - kUntimed); }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  Clock::time_point from_, to_;
};

}  // namespace darope
