#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "base/machine.h"
#include "train/device.h"

namespace darope {

struct SideStream::State {
  c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  c10::cuda::CUDAStreamGuard guard{stream};
};

SideStream::SideStream(at::Device device) {
  if (!device.is_cuda()) return;
  c10::cuda::device_synchronize();  // what was made on the default stream must be there
  state_ = std::make_unique<State>();
}
SideStream::~SideStream() {
  if (state_)
    (void)cudaStreamSynchronize(state_->stream.stream());  // what failed there has been said already
}

struct Recorded::State {
  static constexpr int kWarmUp = 3;  // libraries choose their kernels and workspaces meanwhile
  int runs = 0;
  at::cuda::CUDAGraph graph;
};

Recorded::Recorded(at::Device device, bool record, std::function<void()> work)
    : state_(device.is_cuda() && record ? std::make_unique<State>() : nullptr), work_(std::move(work)) {}
Recorded::Recorded(Recorded&&) noexcept = default;
Recorded::~Recorded() = default;

void Recorded::run() {
  if (!state_ || state_->runs < State::kWarmUp) {
    work_();
    if (state_) ++state_->runs;
    return;
  }
  if (state_->runs == State::kWarmUp) {
    c10::cuda::CUDACachingAllocator::emptyCache();  // the graph has memory of its own; what the eager runs
                                                    // used would lie idle
    state_->graph.capture_begin();
    work_();
    state_->graph.capture_end();
    ++state_->runs;
  }
  state_->graph.replay();
}

// Two sets of page-locked memory, so that one can be filled while the other is under way.
struct Upload::State {
  std::array<Batch, 2> pinned;
  std::array<at::cuda::CUDAEvent, 2> sent;
  size_t next = 0;
};

Upload::Upload(at::Device device) : state_(device.is_cuda() ? std::make_unique<State>() : nullptr) {}
Upload::Upload(Upload&&) noexcept = default;
Upload::~Upload() = default;

void Upload::copy(const Batch& from, Batch& to) {
  if (!state_) return to.copy_from(from);
  Batch& pinned = state_->pinned[state_->next];
  at::cuda::CUDAEvent& sent = state_->sent[state_->next];
  state_->next = 1 - state_->next;
  if (!pinned.tokens.defined()) {
    pinned = from.map([](const Tensor& x) { return x.pin_memory(); });
  } else {
    sent.synchronize();
    pinned.copy_from(from);
  }
  to.copy_from(pinned, true);
  sent.record();
}

void synchronize(at::Device device) {
  if (device.is_cuda()) c10::cuda::device_synchronize();
}

void release_memory(at::Device device) {
  if (!device.is_cuda()) return;
  at::globalContext().lazyInitDevice(at::kCUDA);  // nothing may have been on the device yet
  c10::cuda::CUDACachingAllocator::emptyCache();
  c10::cuda::CUDACachingAllocator::resetPeakStats(c10::cuda::current_device());
}

int64_t peak_memory(at::Device device) {
  if (!device.is_cuda()) return peak_memory_bytes();
  using Kind = c10::CachingAllocator::StatType;
  return c10::cuda::CUDACachingAllocator::getDeviceStats(c10::cuda::current_device())
      .reserved_bytes[size_t(Kind::AGGREGATE)]
      .peak;
}

int64_t free_memory(at::Device device) {
  if (!device.is_cuda()) return free_memory_bytes();
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return int64_t(free);
}

std::string device_name(at::Device device) {
  return device.is_cuda() ? at::cuda::getCurrentDeviceProperties()->name : machine_name();
}

std::string cuda_versions() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  return fmt::format("toolkit {}.{}, driver {}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
                     driver / 1000, driver % 1000 / 10);
}

void compute_deterministically() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setDeterministicAlgorithms(true, false);
}

}  // namespace darope
