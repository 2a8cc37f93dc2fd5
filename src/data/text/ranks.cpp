#include "data/text/ranks.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <queue>

#include "base/error.h"

namespace darope {
namespace {

constexpr size_t kShortToken = 16;      // bytes that fit a slot of the table
constexpr size_t kShortPiece = 128;     // merged by looking through all pairs; longer ones by a heap
constexpr size_t kLongestToken = 1024;  // a file that has longer ones is none of a tokenizer
constexpr int kBytes = 256;

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// False where it is no base64 in groups of four, padded by '='.
bool decode_base64(std::string_view text, std::string& out) {
  out.clear();
  if (text.empty() || text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = i < text.size() - padding ? base64_digit(text[i]) : 0;
    if (digit < 0) return false;
    bits = bits << 6 | uint32_t(digit);
    if (i % 4 == 3)
      for (const int shift : {16, 8, 0}) out += char(bits >> shift & 0xFF);
  }
  out.resize(out.size() - padding);
  return true;
}

// One line of a rank file; an Error says what it should be.
std::string token_of_line(std::string_view line, size_t rank, const std::string& name) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const size_t space = line.find(' ');
  std::string token;
  uint64_t given = 0;
  const bool two = space != line.npos && decode_base64(line.substr(0, space), token);
  const char* const end = line.data() + line.size();
  const auto parsed = two ? std::from_chars(line.data() + space + 1, end, given) : std::from_chars_result{};
  if (!two || parsed.ec != std::errc() || parsed.ptr != end)
    throw Error(fmt::format("{}:{}: each line of a rank file has a token in base64, a space and its rank",
                            name, rank + 1));
  if (given != rank)
    throw Error(
        fmt::format("{}:{}: the rank is {}; ranks should count the lines, from 0 on", name, rank + 1, given));
  if (token.size() > kLongestToken)
    throw Error(fmt::format("{}:{}: a token of {} bytes; {} are the most", name, rank + 1, token.size(),
                            kLongestToken));
  return token;
}

template <class T>
uint64_t load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

Ranks Ranks::parse(std::string_view file, const std::string& name) {
  std::vector<std::string> tokens;
  while (!file.empty()) {
    const size_t end = std::min(file.find('\n'), file.size());
    tokens.push_back(token_of_line(file.substr(0, end), tokens.size(), name));
    file.remove_prefix(std::min(end + 1, file.size()));
  }
  return Ranks(std::move(tokens), name);
}

Ranks::Ranks(std::vector<std::string> tokens, const std::string& name)
    : tokens_(std::move(tokens)), slots_(std::bit_ceil(2 * tokens_.size() + 1)) {
  for (uint32_t rank = 0; rank < tokens_.size(); ++rank)
    if (!insert(tokens_[rank], rank))
      throw Error(
          fmt::format("{}:{}: the token was there before, as rank {}", name, rank + 1, find(tokens_[rank])));
  for (int byte = 0; byte < kBytes; ++byte)
    if (const char c = char(byte); find({&c, 1}) == kNone)
      throw Error(
          fmt::format("{} has no token for the byte 0x{:02X}: a rank file has all {}", name, byte, kBytes));
}

// Words that overlap in the middle, so that nothing beyond the text is read.
Ranks::Key Ranks::key_of(std::string_view text) {
  const char *const begin = text.data(), *const end = begin + text.size();
  if (text.size() >= 8) return {load<uint64_t>(begin), load<uint64_t>(end - 8)};
  if (text.size() >= 4) return {load<uint32_t>(begin) << 32 | load<uint32_t>(end - 4), 0};
  return {load<uint8_t>(begin) << 16 | load<uint8_t>(begin + text.size() / 2) << 8 | load<uint8_t>(end - 1),
          0};
}

size_t Ranks::slot_of(const Key& key, size_t bytes) const {
  const size_t mask = slots_.size() - 1;
  uint64_t hash = (key.low ^ (key.high * 0x9E3779B97F4A7C15) ^ bytes) * 0xD1342543DE82EF95;
  hash ^= hash >> 32;
  size_t at = hash & mask;
  while (slots_[at].rank != kNone && (slots_[at].key != key || slots_[at].bytes != bytes))
    at = (at + 1) & mask;
  return at;
}

bool Ranks::insert(std::string_view text, uint32_t rank) {
  longest_ = std::max(longest_, text.size());
  if (text.size() > kShortToken) return long_.emplace(text, rank).second;
  const Key key = key_of(text);
  Slot& slot = slots_[slot_of(key, text.size())];
  if (slot.rank != kNone) return false;
  slot = {key, rank, uint32_t(text.size())};
  return true;
}

uint32_t Ranks::find(std::string_view text) const {
  if (text.size() <= kShortToken) return slots_[slot_of(key_of(text), text.size())].rank;
  if (text.size() > longest_) return kNone;
  const auto found = long_.find(text);
  return found == long_.end() ? kNone : found->second;
}

void Ranks::encode(std::string_view piece, std::vector<int64_t>& out) const {
  if (const uint32_t rank = find(piece); rank != kNone)
    out.push_back(rank);
  else if (piece.size() <= kShortPiece)
    merge_short(piece, out);
  else
    merge_long(piece, out);
}

// Parts side by side; `pair` is the rank of a part together with the next one.
void Ranks::merge_short(std::string_view piece, std::vector<int64_t>& out) const {
  struct Part {
    uint32_t begin, pair;
  };
  std::array<Part, kShortPiece + 1> parts;
  size_t count = piece.size();  // and one behind the last, where it ends
  for (size_t i = 0; i <= count; ++i)
    parts[i] = {uint32_t(i), i + 1 < count ? find(piece.substr(i, 2)) : kNone};
  const auto text = [&](size_t first, size_t last) {  // of the parts from first to before last
    return piece.substr(parts[first].begin, parts[last].begin - parts[first].begin);
  };
  const auto pair_at = [&](size_t i) { return i + 2 <= count ? find(text(i, i + 2)) : kNone; };
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (parts[i].pair < parts[best].pair) best = i;
    if (parts[best].pair == kNone) break;
    std::copy(parts.begin() + ptrdiff_t(best) + 2, parts.begin() + ptrdiff_t(count) + 1,
              parts.begin() + ptrdiff_t(best) + 1);
    --count;
    parts[best].pair = pair_at(best);
    if (best > 0) parts[best - 1].pair = pair_at(best - 1);
  }
  for (size_t i = 0; i < count; ++i) out.push_back(find(text(i, i + 1)));
}

// The parts of a long piece as a list over its bytes: a part begins at a byte and ends where the next begins.
class Ranks::Chain {
 public:
  Chain(const Ranks& ranks, std::string_view piece)
      : ranks_(ranks), piece_(piece), end_(uint32_t(piece.size())), links_(piece.size()) {
    for (uint32_t i = 0; i < end_; ++i) links_[i] = {i + 1, i - 1, kNone};
    for (uint32_t i = 0; i < end_; ++i) look(i);
  }
  void merge() {
    while (!queue_.empty()) {
      const auto [rank, at] = queue_.top();
      queue_.pop();
      if (links_[at].pair == rank) join(at);  // else one of the two has been merged since
    }
  }
  void append_to(std::vector<int64_t>& out) const {
    for (uint32_t i = 0; i < end_; i = links_[i].next)
      out.push_back(ranks_.find(piece_.substr(i, links_[i].next - i)));
  }

 private:
  struct Link {
    uint32_t next, before, pair;
  };
  using Pair = std::pair<uint32_t, uint32_t>;  // rank, then place: the leftmost of equals comes first

  void look(uint32_t at) {
    const uint32_t next = links_[at].next;
    links_[at].pair = next == end_ ? kNone : ranks_.find(piece_.substr(at, links_[next].next - at));
    if (links_[at].pair != kNone) queue_.emplace(links_[at].pair, at);
  }
  void join(uint32_t at) {
    const uint32_t gone = links_[at].next;
    links_[gone].pair = kNone;
    links_[at].next = links_[gone].next;
    if (links_[at].next < end_) links_[links_[at].next].before = at;
    look(at);
    if (at > 0) look(links_[at].before);
  }

  const Ranks& ranks_;
  std::string_view piece_;
  uint32_t end_;
  std::vector<Link> links_;
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> queue_;
};

void Ranks::merge_long(std::string_view piece, std::vector<int64_t>& out) const {
  if (piece.size() > UINT32_MAX / 2) throw Error("a text of over 2 GiB without a place to split it", kFailed);
  Chain chain(*this, piece);
  chain.merge();
  chain.append_to(out);
}

}  // namespace darope
