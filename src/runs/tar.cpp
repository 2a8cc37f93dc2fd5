#include "runs/tar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace darope {
namespace {

// Where each field lies in a header, and how long it is.
struct Place {
  size_t at, size;
};
constexpr Place kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};

void put(TarBlock& block, Place place, std::string_view text) {
  if (text.size() > place.size)
    throw Error(
        fmt::format("'{}' is too long a name for a tar archive: it may have {} bytes", text, place.size));
  std::copy(text.begin(), text.end(), block.begin() + long(place.at));
}

void put_octal(TarBlock& block, Place place, int64_t number) {
  put(block, place, fmt::format("{:0{}o}", number, place.size - 1));
}

std::string text_at(const TarBlock& block, Place place) {
  const std::string_view field(block.data() + place.at, place.size);
  return std::string(field.substr(0, field.find('\0')));
}

// Digits up to the first space or zero byte; nothing if anything else is there.
std::optional<int64_t> octal_at(const TarBlock& block, Place place) {
  std::string text = text_at(block, place);
  text.erase(0, text.find_first_not_of(' '));
  text.erase(std::min(text.size(), text.find(' ')));
  if (text.empty() || text.find_first_not_of("01234567") != std::string::npos) return std::nullopt;
  return std::stoll(text, nullptr, 8);  // at most twelve digits
}

int64_t sum_of(const TarBlock& block) {  // the field itself counts as spaces
  int64_t sum = 0;
  for (size_t i = 0; i < block.size(); ++i)
    sum += i >= kSum.at && i < kSum.at + kSum.size ? ' ' : static_cast<unsigned char>(block[i]);
  return sum;
}

}  // namespace

TarBlock tar_header(std::string_view folder, std::string_view file, int64_t bytes) {
  TarBlock block{};
  put(block, kPrefix, folder);
  put(block, kName, file);
  put_octal(block, kMode, 0644);
  put_octal(block, kOwner, 0);
  put_octal(block, kGroup, 0);
  put_octal(block, kSize, bytes);
  put_octal(block, kTime, 0);
  put(block, kType, "0");
  put(block, kMagic,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(block, kSum, fmt::format("{:06o}", sum_of(block)) + std::string("\0 ", 2));
  return block;
}

std::optional<TarEntry> read_tar_header(const TarBlock& block, const std::string& where) {
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) return std::nullopt;
  if (!text_at(block, kMagic).starts_with("ustar") || octal_at(block, kSum) != sum_of(block))
    throw Error(where + ": not a tar archive, or a damaged one");
  const std::optional<int64_t> bytes = octal_at(block, kSize);
  if (!bytes) throw Error(where + ": an entry's size is no number");
  const std::string folder =
      block[kMagic.at + 5] == '\0' ? text_at(block, kPrefix) : "";  // GNU's header has other things there
  const std::string file = text_at(block, kName);
  const char type = block[kType.at] == '\0' ? '0' : block[kType.at];
  return TarEntry{folder.empty() ? file : folder + "/" + file, type, *bytes};
}

}  // namespace darope
