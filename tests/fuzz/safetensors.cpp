#include "base/safetensors.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  may_refuse([&] {
    size_t covered = 0, sum = 0;
    for (const TensorView& tensor :
         parse_safetensors(std::as_bytes(std::span(data, size)), "input").tensors) {
      covered += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += size_t(byte);
    }
    must(covered + 8 <= size && sum <= 255 * covered);
  });
  return 0;
}
