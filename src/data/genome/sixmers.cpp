#include "data/genome/sixmers.h"

#include <bit>
#include <cstring>

namespace darope {
namespace {

// In ASCII, bits 1 and 2 tell A 00, C 01, T 10 and G 11 apart (bit 2 first), and of the five letters N alone
// has bit 3.
constexpr uint64_t kBit1 = 0x0202020202020202, kBit3 = 0x0000080808080808;
static_assert(std::endian::native == std::endian::little, "the first base should be a word's lowest byte");

constexpr int64_t digit(char base) { return (base & 2) | (base >> 2 & 1); }  // A 0, T 1, C 2, G 3

// Six bases from the low bytes of a word: bits 1 and 2 change places, then neighbours move together, first
// base on top.
constexpr int64_t sixmer(uint64_t word) {
  const uint64_t digits = (word & kBit1) | (word >> 2 & kBit1 >> 1);
  const uint64_t pairs = (digits << 2 | digits >> 8) & 0x000F000F000F;
  return int64_t((pairs << 8 | pairs >> 12 | pairs >> 32) & 0xFFF);
}

}  // namespace

size_t tokenize_bases(std::string_view bases, std::span<int64_t> out) {
  const char *at = bases.data(), *end = at + bases.size();
  size_t count = 0;
  while (at != end && count < out.size()) {
    uint64_t word = kBit3;  // too near to the end is like an N ahead
    if (end - at >= 8)
      std::memcpy(&word, at, 8);
    else if (end - at >= 6)
      word = 0, std::memcpy(&word, at, 6);
    if ((word & kBit3) == 0) {
      out[count++] = kFirstSixmer + sixmer(word);
      at += 6;
      continue;
    }
    for (; at != end && *at != 'N' && count < out.size(); ++at) out[count++] = kFirstBase + digit(*at);
    for (; at != end && *at == 'N' && count < out.size(); ++at) out[count++] = kUnknownBase;
  }
  return count;
}

std::string text_of_sixmers(std::span<const int64_t> tokens) {
  constexpr char kBases[] = "ATCG";
  std::string text;
  for (const int64_t token : tokens) {
    if (token >= kFirstSixmer && token < kFirstBase)
      for (int shift = 10; shift >= 0; shift -= 2) text += kBases[(token - kFirstSixmer) >> shift & 3];
    else if (token >= kFirstBase && token < kUnknownBase)
      text += kBases[token - kFirstBase];
    else
      text += token == kUnknownBase ? 'N' : '.';
  }
  return text;
}

}  // namespace darope
