#include "runs/bundle.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const BundleLimits limits{.file_bytes = 1 << 12, .total_bytes = 1 << 17, .zstd_window_log = 20};
  may_refuse([&] {
    int64_t total = 0;
    parse_bundle(std::as_bytes(std::span(data, size)), "input", limits, [&](const RunFiles& run) {
      must(run.folder.lexically_normal() ==
           std::filesystem::path("input") / "runs" / run.name);  // it leads nowhere else
      for (const std::string& text : {run.config, run.metrics, run.scores, run.facts}) {
        must(int64_t(text.size()) <= limits.file_bytes);
        total += int64_t(text.size());
      }
    });
    must(total <= limits.total_bytes);
  });
  return 0;
}
