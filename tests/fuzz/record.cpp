#include "runs/record.h"

#include "sealed.h"

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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  darope::as_it_is_and_sealed(data, size, darope::read_and_write);
  return 0;
}
