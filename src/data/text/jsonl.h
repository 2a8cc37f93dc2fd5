#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace darope {

// What a file may ask of us before it is taken for an attack.
struct JsonlLimits {
  int64_t line_bytes = int64_t{64} << 20, total_bytes = int64_t{16} << 30;
  int64_t ratio = 200, ratio_from = 1 << 20;  // unpacked to packed bytes, once that much is unpacked
  int zstd_window_log = 27;                   // 128 MiB, what the zstd tool itself accepts unasked
};

// Calls `document` with each line's `text` (or `content`), in order. Plain, .gz (of any number of members) or
// .zst (frames), by the name. Blank lines are passed over; anything else that is no such object is an Error
// with the line's number.
void read_jsonl(const std::filesystem::path& path, const JsonlLimits& limits,
                const std::function<void(std::string_view)>& document);
void parse_jsonl(std::span<const std::byte> file, const std::string& name, const JsonlLimits& limits,
                 const std::function<void(std::string_view)>& document);

}  // namespace darope
