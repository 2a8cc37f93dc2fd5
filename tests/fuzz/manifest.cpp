#include "data/prepared/manifest.h"

#include "base/json.h"
#include "base/seal.h"
#include "fuzz.h"

namespace darope {
namespace {

// What is read as a manifest is written as one that says the same.
void read_and_write(std::string_view input) {
  may_refuse([&] {
    const std::string text = to_json(parse_manifest(input, "input"));
    must(to_json(parse_manifest(text, "input")) == text);
  });
}

}  // namespace
}  // namespace darope

// As it is, and with the hash that belongs to what it says: otherwise no change would come past that.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  read_and_write(input);
  may_refuse([&] {
    nlohmann::ordered_json object = parse_json(input, "input");
    if (!object.is_object()) return;
    seal(object);
    read_and_write(object.dump());
  });
  return 0;
}
