#include "data/text/npy.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  may_refuse([&] {
    TokenSource source = parse_npy(nullptr, std::as_bytes(std::span(data, size)), "input.npy");
    std::vector<int64_t> ids(size_t(source.size()));
    source.read(0, ids);
    source.set_vocabulary(source.largest_id() + 1);
    source.read(0, ids);
    must(!ids.empty());
  });
  return 0;
}
