#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/prepared/recordings.h"

namespace darope {
namespace {

constexpr size_t kColumns = 96, kRows = 8, kDotsDown = 4 * kRows, kClose = 1024;

// Braille, two dots wide and four high in a character: which bit stands for the dot at (column, row).
constexpr uint8_t kDot[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

// From the lowest to the highest value of each stretch, so that nothing hides between two dots.
std::string plot(std::span<const int64_t> tokens) {
  const size_t across = std::min(2 * kColumns, tokens.size());
  std::array<std::array<uint8_t, kColumns>, kRows> cells{};
  for (size_t x = 0; x < across; ++x) {
    const size_t begin = x * tokens.size() / across, end = (x + 1) * tokens.size() / across;
    const auto stretch = tokens.subspan(begin, end - begin);
    const auto [low, high] = std::minmax_element(stretch.begin(), stretch.end());
    const auto down = [](int64_t token) {
      return kDotsDown - 1 - size_t(std::min(token, kLevels - 1)) * kDotsDown / size_t(kLevels);
    };
    for (size_t y = down(*high); y <= down(*low); ++y) cells[y / 4][x / 2] |= kDot[x % 2][y % 4];
  }
  std::string out;
  for (const auto& row : cells) {
    out += "  ";
    for (size_t x = 0; 2 * x < across; ++x)
      out += {char(0xE2), char(0xA0 | row[x] >> 6), char(0x80 | (row[x] & 0x3F))};  // U+2800 on
    out += "\n";
  }
  return out;
}

}  // namespace

std::string show_signal(std::span<const int64_t> tokens) {
  std::string out = fmt::format("all {}, token 255 on top\n{}", tokens.size(), plot(tokens));
  if (tokens.size() > kClose) out += fmt::format("the first {}\n{}", kClose, plot(tokens.first(kClose)));
  return out;
}

}  // namespace darope
