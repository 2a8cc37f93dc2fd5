#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace darope {

// The Nucleotide Transformer's second vocabulary: six special tokens, all words of six bases, the single
// bases, N. A word is a number in base 4 with the digits A T C G, its first base the most significant.
inline constexpr int64_t kFirstSixmer = 6, kFirstBase = 4102, kUnknownBase = 4106, kGenomeVocabulary = 4107;

// The tokens of A C G T N, as many as `out` holds: each N is one, and splits its surroundings; between two of
// them, words from the left, and what is left over (at most five bases) one by one. Returns how many there
// are.
size_t tokenize_bases(std::string_view bases, std::span<int64_t> out);

std::string text_of_sixmers(
    std::span<const int64_t> tokens);  // the bases again; a special token shows as '.'

}  // namespace darope
