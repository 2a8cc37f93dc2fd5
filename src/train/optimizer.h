#pragma once
#include "model/weights.h"
#include "train/schedule.h"

namespace darope {

// AdamW over all weights at once. Nothing here reads a value back from the device, so that a whole training
// step can be recorded once and replayed: the rate, the step and the verdict on a step are tensors.
class AdamW {
 public:
  AdamW(Weights& weights, const Plan& plan, const OptimConfig& config);

  void set_rate(double rate) { rate_.fill_(rate); }
  void collect();  // between backward passes: what low-precision leaves received, added up in float32
  void scale(const Tensor& factor);  // what has been collected
  // Clips and applies what backward passes have added to the leaves' gradients, leaves these at 0, and copies
  // the weights for low-precision leaves. From the first loss or gradient norm that is not finite on,
  // weights, moments and steps() stay as they were before it.
  void step(const Tensor& loss);

  const Tensor& steps() const { return steps_; }         // [1]: good steps so far
  const Tensor& stopped() const { return stopped_; }     // [1]: 1 from the first bad step on
  const Tensor& gradient_norm() const { return norm_; }  // [1], before clipping

  std::vector<TensorToWrite> named(const std::function<Tensor(const Tensor&)>& copy) const;  // of its state
  void read(const SafetensorsFile& file, int64_t steps);

 private:
  void step_by_library(const Tensor& loss);
  void update(int64_t offset, int64_t count, double decay);

  Weights& weights_;
  OptimConfig config_;
  Tensor gradient_, first_, second_;  // laid out like the weights
  Tensor low_gradient_;               // of the leaves in a low-precision copy; undefined without one
  Tensor rate_, steps_, stopped_, norm_;
  struct Bounded {
    Tensor weight;
    double low, high;
  };
  std::vector<Bounded> bounded_;
};

}  // namespace darope
