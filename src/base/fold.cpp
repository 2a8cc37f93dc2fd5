#include "base/fold.h"

#include <sys/ioctl.h>

#include <algorithm>

namespace darope {
namespace {

// Characters, of text in UTF-8.
size_t width_of(const std::string& text, size_t begin, size_t end) {
  return size_t(std::count_if(text.begin() + std::ptrdiff_t(begin), text.begin() + std::ptrdiff_t(end),
                              [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

size_t columns_of(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string folded(const std::string& text, size_t columns) {
  if (columns == 0) return text;
  std::string out = text;
  size_t line = 0, space = std::string::npos;  // where the line began, and its last place to break
  for (size_t at = 0; at <= out.size(); ++at) {
    const bool end = at == out.size() || out[at] == '\n';
    if (!end && out[at] != ' ') continue;
    if (space != std::string::npos && width_of(out, line, at) > columns) {
      out[space] = '\n';
      line = space + 1;
    }
    space = end ? std::string::npos : at;
    if (end) line = at + 1;
  }
  return out;
}

}  // namespace darope
