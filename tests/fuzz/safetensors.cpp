#include "base/safetensors.h"

#include <cstring>
#include <string>

#include "fuzz.h"

namespace darope {
namespace {

void read(std::span<const std::byte> input) {
  may_refuse([&] {
    size_t covered = 0, sum = 0;
    for (const TensorView& tensor : parse_safetensors(input, "input").tensors) {
      covered += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += size_t(byte);
    }
    must(covered + 8 <= input.size() && sum <= 255 * covered);
  });
}

// The input as the header, behind its length as it should be, with as many bytes as its last offset asks for.
std::string whole(std::string_view header) {
  const size_t last = header.find_last_of("0123456789");
  const size_t first = header.substr(0, last + 1).find_last_not_of("0123456789") + 1;
  const size_t bytes =
      last == std::string_view::npos ? 0 : size_t(std::strtoull(&header[first], nullptr, 10)) & 0xFFFF;
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file.append(header).append(bytes, '\1');
}

}  // namespace
}  // namespace darope

// As it is, and as the header of a file whose length is right: otherwise few inputs come past that.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  read(std::as_bytes(std::span(data, size)));
  const std::string file = whole(std::string(reinterpret_cast<const char*>(data), size));
  read(std::as_bytes(std::span(file)));
  return 0;
}
