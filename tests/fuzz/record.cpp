#include "runs/record.h"

#include "base/json.h"
#include "base/seal.h"
#include "fuzz.h"

namespace darope {
namespace {

// What is read as a comparison's record is written as one that says the same, and joins itself.
void read_and_write(const std::string& input) {
  may_refuse([&] {
    ComparisonRecord record = parse_record(input, "input");
    const std::string text = to_text(record);
    must(to_text(parse_record(text, "input")) == text);
    record.join(parse_record(text, "input"), "input");
    must(to_text(record) == text);
    for (const auto& [name, of] : record.datasets)
      if (of.settling) of.settling->seeds_asked({"nope", "rope"});
  });
}

}  // namespace
}  // namespace darope

// As it is, and with the hash that belongs to what it says.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const std::string input(reinterpret_cast<const char*>(data), size);
  read_and_write(input);
  may_refuse([&] {
    nlohmann::ordered_json object = parse_json(input, "input");
    if (!object.is_object()) return;
    seal(object);
    read_and_write(object.dump());
  });
  return 0;
}
