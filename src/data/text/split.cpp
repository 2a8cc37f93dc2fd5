#include "data/text/split.h"

#include <array>

#include "data/text/unicode.h"

namespace darope {
namespace {

constexpr std::array<uint8_t, 256> kByteClasses = [] {  // 0: the first byte of a longer character
  std::array<uint8_t, 256> out{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), number = c >= '0' && c <= '9';
    const bool newline = c == '\r' || c == '\n', blank = c == ' ' || (c >= '\t' && c <= '\r');
    out[size_t(c)] = letter ? kLetter : number ? kNumber : newline ? kBreak : blank ? kBlank : kOther;
  }
  return out;
}();

struct Char {
  uint8_t kind;  // 0: the text has ended
  uint8_t bytes;
};

Char wide_char(std::string_view text) {
  const std::optional<CodePoint> code = decode_utf8(text);
  return code ? Char{class_of(code->value), uint8_t(code->bytes)} : Char{kOther, 1};
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::string_view until(size_t end) const { return text_.substr(0, end); }
  Char at(size_t i) const {
    if (i >= text_.size()) return {0, 0};
    const uint8_t kind = kByteClasses[static_cast<unsigned char>(text_[i])];
    return kind ? Char{kind, 1} : wide_char(text_.substr(i));
  }
  bool has(size_t i, int kinds) const { return at(i).kind & kinds; }
  size_t skip(size_t i, int kinds) const {
    for (Char c = at(i); c.kind & kinds; c = at(i)) i += c.bytes;
    return i;
  }
  size_t after_space() const { return text_[0] == ' ' ? 1 : 0; }

  // 's 'd 'm 't 'll 've 're: where one ends, or 0. In any case it is, as Unicode folds it, the long s too.
  size_t contraction(bool any_case) const {
    constexpr std::string_view kLongS = "\xC5\xBF";
    if (text_[0] != '\'' || text_.size() < 2) return 0;
    const auto lower = [&](size_t i) { return char(any_case ? text_[i] | 0x20 : text_[i]); };
    const char first = lower(1), second = text_.size() > 2 ? lower(2) : '\0';
    if (first == 's' || first == 'd' || first == 'm' || first == 't') return 2;
    const bool two = (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e');
    if (two) return 3;
    return any_case && text_.substr(1).starts_with(kLongS) ? 1 + kLongS.size() : 0;
  }

  // White space at the front: all of it at the end of the text; before a word all but its last character,
  // which may belong to the word. Where `breaks`, a run ends behind its last line break.
  size_t white_space(bool breaks) const {
    const size_t end = skip(0, kBlank | kBreak);
    if (end == text_.size()) return end;
    if (breaks)
      if (const size_t last = text_.substr(0, end).find_last_of("\r\n"); last != text_.npos) return last + 1;
    size_t last = end - 1;
    while ((static_cast<unsigned char>(text_[last]) & 0xC0) == 0x80) --last;
    return last > 0 ? last : end;
  }

 private:
  std::string_view text_;
};

}  // namespace

std::string_view split_cl100k(std::string_view text) {
  const Scanner scan(text);
  if (const size_t end = scan.contraction(true)) return scan.until(end);
  const Char first = scan.at(0);
  const size_t word = first.kind & (kLetter | kNumber | kBreak) ? 0 : first.bytes;
  if (scan.has(word, kLetter)) return scan.until(scan.skip(word, kLetter));
  if (first.kind == kNumber) {
    size_t end = 0;
    for (int digits = 0; digits < 3 && scan.has(end, kNumber); ++digits) end += scan.at(end).bytes;
    return scan.until(end);
  }
  const size_t symbols = scan.after_space();
  if (scan.has(symbols, kOther)) return scan.until(scan.skip(scan.skip(symbols, kOther), kBreak));
  return scan.until(scan.white_space(true));
}

std::string_view split_r50k(std::string_view text) {
  const Scanner scan(text);
  if (const size_t end = scan.contraction(false)) return scan.until(end);
  const size_t word = scan.after_space();
  if (const int kind = scan.at(word).kind & (kLetter | kNumber | kOther))
    return scan.until(scan.skip(word, kind));
  return scan.until(scan.white_space(false));
}

}  // namespace darope
