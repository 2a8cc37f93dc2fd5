#include "data/text/jsonl.h"

#include "fuzz.h"

// The first byte says how the rest is packed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  if (size == 0) return 0;
  const char* name = data[0] == 'g'   ? "input.jsonl.gz"
                     : data[0] == 'z' ? "input.jsonl.zst"
                     : data[0] == 'x' ? "input.jsonl.xz"
                                      : "input.jsonl";
  const JsonlLimits limits{.line_bytes = 1 << 12,
                           .unpack = {.total_bytes = 1 << 17,
                                      .ratio = 200,
                                      .ratio_from = 1 << 14,
                                      .zstd_window_log = 20,
                                      .xz_memory = 1 << 20}};
  may_refuse([&] {
    int64_t total = 0;
    parse_jsonl(std::as_bytes(std::span(data + 1, size - 1)), name, limits,
                {.document = [&](std::string_view text) { total += int64_t(text.size()); }});
    must(total <= limits.unpack.total_bytes);
  });
  return 0;
}
