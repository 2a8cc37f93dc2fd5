#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace darope {

// What something takes at the least: operations of products, and bytes that have to be read or written once.
struct Cost {
  double operations = 0, bytes = 0;
};

// What this machine does at best, measured in the same run: a large product, and a large copy.
struct Speeds {
  double operations = 0, bytes = 0;        // a second
  double seconds(const Cost& cost) const;  // the floor: whichever of the two takes longer
};
Speeds measure_speeds(at::Device device, at::ScalarType type);

struct Rounds {
  std::vector<double> seconds;        // a call, the mean of each round
  std::optional<int64_t> peak_bytes;  // of a GPU: a process has held more for other things
  double best() const;
  double spread() const;  // of the worst over the best, less one
};

struct Timing {
  int64_t rounds = 3, steps = 10;           // steps: calls in a round
  std::string trace = {};                   // a file for Chrome's viewer, of a training's two steps more
  std::function<void()> between = nullptr;  // behind each round: another's turn
};

constexpr int64_t kUntimed = 6;  // the first calls choose kernels and, on a GPU, are recorded

using Call = std::function<void()>;
// What `make` makes, recorded as a CUDA graph where there is a GPU, unless it cannot be: a call whose tensors
// are not the same ones every time.
Rounds time_calls(at::Device device, const Timing& timing, const std::function<Call()>& make,
                  bool record = true);

}  // namespace darope
