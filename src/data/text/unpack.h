#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace darope {

// What a file may ask of us before it is taken for an attack.
struct UnpackLimits {
  int64_t total_bytes = int64_t{16} << 30;
  int64_t ratio = 200, ratio_from = 1 << 20;  // unpacked to packed bytes, once that much is unpacked
  int zstd_window_log = 27;                   // 128 MiB, what the zstd tool itself accepts unasked
  int64_t xz_memory = int64_t{256} << 20;     // enough for xz -9
};

// Calls `piece` with what a file holds, in order and some at a time: .gz (of any number of members), .zst
// (frames) and .xz (streams) unpacked, by the name; any other as it is.
void unpack(std::span<const std::byte> file, const std::string& name, const UnpackLimits& limits,
            const std::function<void(std::string_view)>& piece);

}  // namespace darope
