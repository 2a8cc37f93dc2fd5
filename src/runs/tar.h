#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace darope {

// As much of POSIX tar (ustar) as bundles need: regular files with plain names.
inline constexpr size_t kTarBlock = 512;
using TarBlock = std::array<char, kTarBlock>;

// The header of a file; its content follows, filled up to whole blocks with zeros. `folder` and `file` have
// at most 155 and 100 bytes. Owner, group and time are nobody's: the same files make the same archive.
TarBlock tar_header(std::string_view folder, std::string_view file, int64_t bytes);

struct TarEntry {
  std::string path;
  char type = '0';  // '0' a file, '5' a folder; others as POSIX numbers them
  int64_t bytes = 0;
};
// Nothing for the block of zeros that ends an archive. A block that is no header is an Error that begins with
// `where`.
std::optional<TarEntry> read_tar_header(const TarBlock& block, const std::string& where);

}  // namespace darope
