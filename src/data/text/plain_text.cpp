#include "data/text/plain_text.h"

#include "base/files.h"
#include "data/bad_input.h"

namespace darope {
namespace {

constexpr size_t kPart = 1 << 20, kSearched = 1 << 18;  // bytes; of the end of what is held

// Behind the last letter that a space follows, in the last bytes; 0 where there is none.
size_t last_word_end(std::string_view text) {
  const size_t least = text.size() > kSearched ? text.size() - kSearched : 1;
  for (size_t i = text.size() - 1; i >= least && i > 0; --i) {
    const char before = char(text[i - 1] | 0x20);
    if (text[i] == ' ' && before >= 'a' && before <= 'z') return i;
  }
  return 0;
}

}  // namespace

void read_plain_text(const std::filesystem::path& path, const UnpackLimits& limits, size_t longest,
                     const std::function<void(std::string_view)>& part) {
  std::string held;
  int64_t before = 0;  // bytes that were handed on
  const auto hand_on = [&](size_t end) {
    part(std::string_view(held).substr(0, end));
    held.erase(0, end);
    before += int64_t(end);
  };
  const MappedFile file(path);
  unpack(file.bytes(), path.string(), limits, [&](std::string_view piece) {
    if (const size_t zero = piece.find('\0'); zero != piece.npos)
      throw BadInput("a zero byte, as in pictures, archives and UTF-16; text should be UTF-8",
                     before + int64_t(held.size() + zero));
    held += piece;
    if (held.size() < kPart) return;
    if (const size_t end = last_word_end(held))
      hand_on(end);
    else if (held.size() >= longest)
      hand_on(held.size());
  });
  if (!held.empty()) hand_on(held.size());
}

}  // namespace darope
