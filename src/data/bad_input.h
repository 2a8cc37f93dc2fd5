#pragma once
#include <cstdint>
#include <string>

#include "base/error.h"

namespace darope {

// What is wrong with a file that others wrote, and at which of its bytes. A batch goes on without the file
// and says so.
class BadInput : public Error {
 public:
  BadInput(const std::string& reason, int64_t offset) : Error(reason), offset_(offset) {}
  int64_t offset() const { return offset_; }

 private:
  int64_t offset_;
};

}  // namespace darope
