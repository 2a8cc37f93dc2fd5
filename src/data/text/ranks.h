#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace darope {

// A byte-pair vocabulary: byte strings by rank. Of two neighbours that make a string of it together, those of
// the lowest rank are merged first.
class Ranks {
 public:
  // An Error where a token comes twice or a single byte is missing; `name` stands in it.
  Ranks(std::vector<std::string> tokens, const std::string& name);
  // The text of a rank file as tiktoken writes it: a line for each token, its bytes in base64, a space and
  // its rank, which is the number of the line.
  static Ranks parse(std::string_view file, const std::string& name);
  Ranks(Ranks&&) = default;  // not copied: it points into itself

  int64_t size() const { return int64_t(tokens_.size()); }
  const std::string& token(int64_t rank) const { return tokens_[size_t(rank)]; }
  void encode(std::string_view piece, std::vector<int64_t>& out) const;  // appends the ids of one piece

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Up to 16 bytes and their number as two words; equal for equal strings alone.
  struct Key {
    uint64_t low, high;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key{};
    uint32_t rank = kNone, bytes = 0;
  };
  class Chain;

  static Key key_of(std::string_view short_text);
  size_t slot_of(const Key& key, size_t bytes) const;
  bool insert(std::string_view text, uint32_t rank);  // false: it is there already
  uint32_t find(std::string_view text) const;
  void merge_short(std::string_view piece, std::vector<int64_t>& out) const;
  void merge_long(std::string_view piece, std::vector<int64_t>& out) const;

  std::vector<std::string> tokens_;
  std::vector<Slot> slots_;  // strings of up to 16 bytes, by their hash or the next free place
  std::unordered_map<std::string_view, uint32_t> long_;  // the others; they point into tokens_
  size_t longest_ = 0;
};

}  // namespace darope
