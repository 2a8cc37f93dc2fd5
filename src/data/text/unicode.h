#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace darope {

// What a rule of splitting text asks of a character; each a bit, so that several make a set.
enum CharClass : uint8_t { kLetter = 1, kNumber = 2, kBlank = 4, kBreak = 8, kOther = 16 };  // kBreak: CR, LF

CharClass class_of(uint32_t code_point);

struct CodePoint {
  uint32_t value, bytes;
};
// At the front of a text that is not empty; none where its first byte begins no character.
std::optional<CodePoint> decode_utf8(std::string_view text);

int64_t bytes_outside_utf8(std::string_view text);  // that belong to no character

}  // namespace darope
