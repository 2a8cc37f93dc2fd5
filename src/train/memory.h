#pragma once
#include <c10/core/ScalarType.h>

#include <string>

#include "model/plan.h"
#include "train/config.h"

namespace darope {

// What a training takes at its peak, in bytes, by the shapes of its tensors. It is near what is measured:
// from 3/4 to 4/3 of it, as tests of shapes and encodings hold it.
struct TrainingMemory {
  double state = 0;        // weights, their copy in a lower precision, gradients and moments
  double activations = 0;  // what the backward pass will read
  double passing = 0;      // the most that is there for a while: logits of a chunk, gradients of a layer
  double whole() const { return state + activations + passing; }
};
TrainingMemory training_memory(const DecoderConfig& model, const Plan& plan, const TrainConfig& config,
                               int64_t batch, int64_t length, at::ScalarType compute, bool on_cpu);

std::string memory_text(double bytes);  // in GiB, or below one in MiB

}  // namespace darope
