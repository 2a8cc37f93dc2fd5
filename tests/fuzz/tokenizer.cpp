#include <algorithm>
#include <map>

#include "data/text/ranks.h"
#include "data/text/split.h"
#include "fuzz.h"

namespace darope {
namespace {

// Bytes, and some strings that letters, digits and white space make.
std::vector<std::string> vocabulary() {
  std::vector<std::string> out;
  for (int byte = 0; byte < 256; ++byte) out.emplace_back(1, char(byte));
  for (const char* text : {"aa", " a", "ab", "abab", "  ", "    ", "\n\n", " \n", "11", "a1", "\xC3\xA9",
                           "'s", "aaaa", "aaaaaaaa", "aaaaaaaaaaaaaaaaaaaa", "ba", "bab"})
    out.emplace_back(text);
  return out;
}

// As the definition says it: merge the pair of the lowest rank, the leftmost of equals, until there is none.
std::vector<int64_t> plainly(std::string_view piece, const std::map<std::string, int64_t>& rank_of) {
  if (const auto whole = rank_of.find(std::string(piece)); whole != rank_of.end()) return {whole->second};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    size_t best = parts.size();
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto pair = rank_of.find(parts[i] + parts[i + 1]); pair != rank_of.end())
        if (pair->second < lowest) best = i, lowest = pair->second;
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + ptrdiff_t(best) + 1);
  }
  std::vector<int64_t> out;
  for (const std::string& part : parts) out.push_back(rank_of.at(part));
  return out;
}

}  // namespace
}  // namespace darope

// Pieces cover the text, and merge as the definition says; the longest are merged in another way than others.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  static const std::vector<std::string> tokens = vocabulary();
  static const Ranks ranks(tokens, "vocabulary");
  static const std::map<std::string, int64_t> rank_of = [] {
    std::map<std::string, int64_t> out;
    for (size_t i = 0; i < tokens.size(); ++i) out[tokens[i]] = int64_t(i);
    return out;
  }();
  for (const SplitRule split : {split_cl100k, split_r50k})
    for (std::string_view text(reinterpret_cast<const char*>(data), size); !text.empty();) {
      const std::string_view piece = split(text);
      must(!piece.empty() && piece.size() <= text.size() && piece.data() == text.data());
      std::vector<int64_t> ids;
      ranks.encode(piece, ids);
      must(ids == plainly(piece, rank_of));
      text.remove_prefix(piece.size());
    }
  return 0;
}
