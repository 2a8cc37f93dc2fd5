#include "bench/timing.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <algorithm>
#include <chrono>

#include "base/signals.h"
#include "train/device.h"

namespace darope {
namespace {

double seconds_of(at::Device device, int64_t calls, const Call& call) {
  using Clock = std::chrono::steady_clock;
  synchronize(device);
  const Clock::time_point from = Clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  synchronize(device);
  return std::chrono::duration<double>(Clock::now() - from).count() / double(calls);
}

double best_of(at::Device device, const Call& call) {
  constexpr int64_t kTries = 5;
  const int64_t calls = device.is_cuda() ? 10 : 1;
  call();
  double best = seconds_of(device, calls, call);
  for (int64_t i = 1; i < kTries; ++i) best = std::min(best, seconds_of(device, calls, call));
  return best;
}

}  // namespace

double Speeds::seconds(const Cost& cost) const {
  return std::max(cost.operations / operations, cost.bytes / bytes);
}

Speeds measure_speeds(at::Device device, at::ScalarType type) {
  const int64_t width = device.is_cuda() ? 8192 : 1024, size = int64_t{1} << (device.is_cuda() ? 30 : 27);
  const at::TensorOptions options = at::TensorOptions().device(device).dtype(type);
  Speeds out;
  {
    const at::Tensor a = at::rand({width, width}, options), b = at::rand({width, width}, options);
    at::Tensor c = at::empty_like(a);
    const double cube = double(width) * double(width) * double(width);
    out.operations = 2 * cube / best_of(device, [&] { at::mm_out(c, a, b); });
  }
  const at::Tensor from = at::rand({size / 4}, options.dtype(at::kFloat)), to = at::empty_like(from);
  out.bytes = 2 * double(size) / best_of(device, [&] { to.copy_(from); });
  return out;
}

double Rounds::best() const { return *std::min_element(seconds.begin(), seconds.end()); }
double Rounds::spread() const { return *std::max_element(seconds.begin(), seconds.end()) / best() - 1; }

Rounds time_calls(at::Device device, const Timing& timing, const std::function<Call()>& make, bool record) {
  release_memory(device);  // something else may have been timed before
  const SideStream stream(device);
  Recorded call(device, record, make());
  for (int64_t i = 0; i < kUntimed; ++i) call.run();
  Rounds out;
  for (int64_t round = 0; round < timing.rounds; ++round) {
    throw_if_stopped();
    out.seconds.push_back(seconds_of(device, timing.steps, [&] { call.run(); }));
    if (timing.between) timing.between();
  }
  if (device.is_cuda()) out.peak_bytes = peak_memory(device);
  return out;
}

}  // namespace darope
