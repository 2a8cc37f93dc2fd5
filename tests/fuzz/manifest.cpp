#include "data/prepared/manifest.h"

#include "fuzz.h"

// What is read as a manifest is written as one that says the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  may_refuse([&] {
    const std::string text = to_json(parse_manifest({reinterpret_cast<const char*>(data), size}, "input"));
    must(to_json(parse_manifest(text, "input")) == text);
  });
  return 0;
}
