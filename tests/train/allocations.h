#pragma once
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <memory>

namespace darope {

// The bytes of tensors that this thread makes while this lives: now, and the most at once.
class Allocations {
 public:
  int64_t now() const { return counter_->now; }
  int64_t peak() const { return counter_->peak; }

 private:
  struct Counter : c10::MemoryReportingInfoBase {
    int64_t now = 0, peak = 0;
    void reportMemoryUsage(void*, int64_t size, size_t, size_t, c10::Device) override {
      now += size, peak = std::max(peak, now);
    }
    bool memoryProfilingEnabled() const override { return true; }
  };
  std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  c10::DebugInfoGuard guard_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace darope
