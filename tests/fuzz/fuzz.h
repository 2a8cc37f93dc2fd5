#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"

namespace darope {

// Hostile input may be refused, by an Error and nothing else.
template <class Call>
void may_refuse(const Call& call) {
  try {
    call();
  } catch (const Error&) {
  }
}
inline void must(bool held) {
  if (!held) std::abort();
}

}  // namespace darope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
