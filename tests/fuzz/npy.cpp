#include "data/text/npy.h"

#include <string>

#include "fuzz.h"

namespace darope {
namespace {

void read(std::span<const std::byte> input) {
  may_refuse([&] {
    TokenSource source = parse_npy(nullptr, input, "input.npy");
    std::vector<int64_t> ids(size_t(source.size()));
    source.read(0, ids);
    source.set_vocabulary(source.largest_id() + 1);
    source.read(0, ids);
    must(!ids.empty());
  });
}

// The input as header up to its first zero byte and as numbers behind it, in a file whose lengths are right.
std::string whole(std::string_view input) {
  std::string header(input.substr(0, input.find('\0')));
  input.remove_prefix(std::min(input.size(), header.size() + 1));
  header.resize(std::min<size_t>(header.size(), 0xFF00));
  header.append(63 - (10 + header.size()) % 64, ' ') += '\n';
  std::string file("\x93NUMPY\1\0", 8);
  file += char(header.size() & 0xFF);
  file += char(header.size() >> 8);
  return file.append(header).append(input);
}

}  // namespace
}  // namespace darope

// As it is, and in a file whose magic and lengths are right: otherwise few inputs come past those.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  read(std::as_bytes(std::span(data, size)));
  const std::string file = whole({reinterpret_cast<const char*>(data), size});
  read(std::as_bytes(std::span(file)));
  return 0;
}
