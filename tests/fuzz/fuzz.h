#pragma once
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

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

// As bundles are packed.
inline std::string compressed(std::string_view tar) {
  std::string out(ZSTD_compressBound(tar.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), tar.data(), tar.size(), 1));
  return out;
}

}  // namespace darope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
