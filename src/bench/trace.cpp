#include "bench/trace.h"

#include <torch/csrc/autograd/profiler_kineto.h>

namespace darope {
namespace profiler = torch::autograd::profiler;
namespace {

using torch::profiler::impl::ActivityType;
const std::set<ActivityType> kActivities{ActivityType::CPU, ActivityType::CUDA};

}  // namespace

Trace::Trace() {
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO);
  profiler::prepareProfiler(config, kActivities);
  profiler::enableProfiler(config, kActivities);
}

void Trace::save(const std::string& file) { profiler::disableProfiler()->save(file); }

}  // namespace darope
