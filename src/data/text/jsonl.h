#pragma once
#include <filesystem>

#include "base/error.h"
#include "data/text/unpack.h"

namespace darope {

struct JsonlLimits {
  int64_t line_bytes = int64_t{64} << 20;
  UnpackLimits unpack = {};
};

struct JsonlReader {
  std::function<void(std::string_view text)> document;  // of each line its `text` or `content`, in order
  // A line that is none or that `document` refused, by its number from 1 on. Empty: the Error is thrown.
  std::function<void(int64_t line, const Error& reason)> refuse = {};
};

// Plain, .gz, .zst or .xz, by the name. Blank lines are passed over; anything else that is no object with a
// text is an Error with the line's number.
void read_jsonl(const std::filesystem::path& path, const JsonlLimits& limits, const JsonlReader& reader);
// The same of lines that come in pieces: `give` calls what it is given with one after the other.
void read_json_lines(const std::string& name, int64_t line_bytes, const JsonlReader& reader,
                     const std::function<void(const std::function<void(std::string_view)>&)>& give);
void parse_jsonl(std::span<const std::byte> file, const std::string& name, const JsonlLimits& limits,
                 const JsonlReader& reader);

}  // namespace darope
