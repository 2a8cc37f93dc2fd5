#include "runs/bundle.h"

#include <cstdio>
#include <numeric>
#include <string>

#include "fuzz.h"
#include "runs/tar.h"

namespace darope {
namespace {

void read(std::span<const std::byte> input) {
  const BundleLimits limits{.file_bytes = 1 << 12, .total_bytes = 1 << 17, .zstd_window_log = 20};
  may_refuse([&] {
    int64_t total = 0;
    parse_bundle(input, "input", limits, [&](const RunFiles& run) {
      must(run.folder.lexically_normal() ==
           std::filesystem::path("input") / "runs" / run.name);  // it leads nowhere else
      for (const std::string& text : {run.config, run.metrics, run.scores, run.facts}) {
        must(int64_t(text.size()) <= limits.file_bytes);
        total += int64_t(text.size());
      }
    });
    must(total <= limits.total_bytes);
  });
}

// The input as a tar archive in which every block that could be a header has its right checksum, packed.
std::string packed(std::string tar) {
  constexpr size_t kSum = 148, kMagic = 257;  // where POSIX has them
  tar.resize((tar.size() / kTarBlock + 3) * kTarBlock);
  for (size_t at = 0; at < tar.size(); at += kTarBlock) {
    if (tar.compare(at + kMagic, 5, "ustar") != 0) continue;
    tar.replace(at + kSum, 8, 8, ' ');
    const auto add = [](unsigned sum, char c) { return sum + static_cast<unsigned char>(c); };
    const unsigned sum =
        std::accumulate(tar.begin() + ptrdiff_t(at), tar.begin() + ptrdiff_t(at + kTarBlock), 0U, add);
    std::snprintf(&tar[at + kSum], 8, "%06o", sum);
  }
  return compressed(tar);
}

}  // namespace
}  // namespace darope

// As it is, and packed with checksums that are right: otherwise few inputs come past those.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  read(std::as_bytes(std::span(data, size)));
  const std::string bundle = packed({reinterpret_cast<const char*>(data), size});
  read(std::as_bytes(std::span(bundle)));
  return 0;
}
