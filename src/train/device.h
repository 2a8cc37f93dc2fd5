#pragma once
#include <functional>
#include <memory>
#include <string>

#include "data/batch.h"

namespace darope {

// What training needs of a GPU beyond tensors. On a CPU, and in a build without CUDA, work simply runs.

// While this lives, work of this thread goes to a stream of its own, as recording demands. Its end waits for
// that work.
class SideStream {
 public:
  explicit SideStream(at::Device device);
  ~SideStream();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Work on fixed tensors that never looks at a value. On a GPU it runs as it is a few times, then is recorded,
// and from then on its whole sequence of kernels is launched as one CUDA graph.
class Recorded {
 public:
  Recorded(at::Device device, bool record, std::function<void()> work);
  Recorded(Recorded&&) noexcept;
  ~Recorded();
  void run();

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: never recorded
  std::function<void()> work_;
};

// Copies batches into one set of buffers on the device. The host does not wait: it may make the next batch
// meanwhile.
class Upload {
 public:
  explicit Upload(at::Device device);
  Upload(Upload&&) noexcept;
  ~Upload();
  void copy(const Batch& from, Batch& to);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

void synchronize(at::Device device);     // waits for its work
void release_memory(at::Device device);  // of work that is done, and counts its peak anew; on a GPU
int64_t peak_memory(at::Device device);  // bytes: of the device's allocations, or of the process on a CPU
int64_t free_memory(at::Device device);  // bytes that work could still take
std::string device_name(at::Device device);
std::string cuda_versions();  // of the toolkit this was built with and of the driver; empty without
// Sums in a fixed order on a GPU too, and an error where an operator cannot. Before the first work there.
void compute_deterministically();

}  // namespace darope
