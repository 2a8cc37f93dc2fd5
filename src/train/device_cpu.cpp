#include <ATen/Context.h>

#include "base/machine.h"
#include "train/device.h"

// The build without CUDA: everything runs where it is called.
namespace darope {

struct SideStream::State {};
struct Recorded::State {};
struct Upload::State {};

SideStream::SideStream(at::Device) {}
SideStream::~SideStream() = default;

Recorded::Recorded(at::Device, bool, std::function<void()> work) : work_(std::move(work)) {}
Recorded::Recorded(Recorded&&) noexcept = default;
Recorded::~Recorded() = default;
void Recorded::run() { work_(); }

Upload::Upload(at::Device) {}
Upload::Upload(Upload&&) noexcept = default;
Upload::~Upload() = default;
void Upload::copy(const Batch& from, Batch& to) { to.copy_from(from); }

void synchronize(at::Device) {}
void release_memory(at::Device) {}
int64_t peak_memory(at::Device) { return peak_memory_bytes(); }
int64_t free_memory(at::Device) { return free_memory_bytes(); }
std::string device_name(at::Device) { return machine_name(); }
std::string cuda_versions() { return ""; }
void compute_deterministically() { at::globalContext().setDeterministicAlgorithms(true, false); }

}  // namespace darope
