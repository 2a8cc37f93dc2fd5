#include "data/text/ranks.h"

#include "fuzz.h"

// Only a whole vocabulary is taken, and what it makes of a text is that text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  may_refuse([&] {
    const Ranks ranks = Ranks::parse(file, "input");
    must(ranks.size() >= 256);
    std::vector<int64_t> ids;
    ranks.encode(file.substr(0, 1000), ids);
    std::string text;
    for (const int64_t id : ids) text += ranks.token(id);
    must(text == file.substr(0, 1000));
  });
  return 0;
}
