#pragma once
#include <string>
#include <vector>

#include "model/config.h"

namespace darope {

// A training step of one shape: what `darope bench step` times.
struct StepShape {
  std::string name;
  DecoderConfig model;
  int64_t batch = 1, length = 1;

  int64_t tokens() const { return batch * length; }
  double operations()
      const;  // of one step: 6 a weight in a product and token, 6 x layers x length x width for attention
};
const std::vector<StepShape>& step_shapes();
const StepShape& find_step_shape(const std::string& name);

struct StepTime {
  std::vector<double> rounds;  // seconds a step, the mean of each round
  int64_t peak_bytes = 0;
  double best() const;
};

struct StepTrial {
  std::string encoding = "darope", device = "auto",
              trace;  // trace: a file for Chrome's viewer, of two steps more
  int64_t rounds = 3, steps = 10;
};
StepTime time_step(const StepShape& shape, const StepTrial& trial);

}  // namespace darope
