#include "data/prepared/manifest.h"

#include "sealed.h"

namespace darope {
namespace {

// What is read as a manifest is written as one that says the same.
void read_and_write(const std::string& input) {
  may_refuse([&] {
    const std::string text = to_json(parse_manifest(input, "input"));
    must(to_json(parse_manifest(text, "input")) == text);
  });
}

}  // namespace
}  // namespace darope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  darope::as_it_is_and_sealed(data, size, darope::read_and_write);
  return 0;
}
