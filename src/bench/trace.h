#pragma once
#include <string>

namespace darope {

// What the processor and the GPU do while this lives, by the library's own profiler.
class Trace {
 public:
  Trace();
  void save(const std::string& file);  // as JSON that Chrome's trace viewer reads; ends the recording
};

}  // namespace darope
