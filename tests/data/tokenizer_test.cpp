#include "data/text/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "data/text/ranks.h"
#include "data/text/unicode.h"
#include "scratch.h"

namespace darope {
namespace {

std::string base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < text.size() ? uint8_t(text[i + j]) : uint8_t{0});
    for (size_t j = 0; j < 4; ++j) out += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return out;
}

std::string rank_file(const std::vector<std::string>& merged) {
  std::string out;
  for (int byte = 0; byte < 256; ++byte)
    out += fmt::format("{} {}\n", base64(std::string(1, char(byte))), byte);
  for (size_t i = 0; i < merged.size(); ++i) out += fmt::format("{} {}\n", base64(merged[i]), 256 + i);
  return out;
}

std::string refusal(const std::string& file) {
  try {
    Ranks::parse(file, "ranks");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Tokenizer, MergesTheLowestRankFirstAndTheLeftmostOfEquals) {
  const Ranks ranks = Ranks::parse(rank_file({"bc", "ab", "abc", "aa"}), "ranks");
  const auto encode = [&](std::string_view piece) {
    std::vector<int64_t> out;
    ranks.encode(piece, out);
    return out;
  };
  EXPECT_EQ(encode("abc"), (std::vector<int64_t>{258}));        // all of it is a token
  EXPECT_EQ(encode("abcd"), (std::vector<int64_t>{258, 'd'}));  // bc before ab, then a with bc
  EXPECT_EQ(encode("aaaaa"), (std::vector<int64_t>{259, 259, 'a'}));
}

TEST(Tokenizer, PutsBeginAndEndBehindTheRanks) {
  const Scratch scratch;
  write_file(scratch.path() / "own.tiktoken", rank_file({"he", "hel"}));
  const auto tokenizer = find_tokenizer("cl100k", scratch.path() / "own.tiktoken");
  EXPECT_EQ(tokenizer->vocabulary(), 258 + 256);
  EXPECT_EQ(tokenizer->begin_of_document(), 258);
  EXPECT_EQ(tokenizer->end_of_document(), 259);
  EXPECT_EQ(tokenizer->decode(std::vector<int64_t>{258, 257, 'p', 259}), "help");
  EXPECT_EQ(find_tokenizer("bytes")->begin_of_document(), std::nullopt);
}

TEST(Tokenizer, RefusesAFileThatHoldsNoRanks) {
  EXPECT_EQ(refusal(rank_file({"ab"})), "");
  EXPECT_NE(refusal("").find("no token for the byte 0x00"), std::string::npos);
  EXPECT_NE(refusal("{\"a\": 1}\n").find("ranks:1: each line"), std::string::npos);
  EXPECT_NE(refusal(rank_file({}) + "YWI 256\n").find("ranks:257: each line"), std::string::npos);
  EXPECT_NE(refusal(rank_file({}) + "YWI= 256 \n").find("ranks:257: each line"), std::string::npos);
  EXPECT_NE(refusal(rank_file({}) + "YWI= 257\n").find("the rank is 257"), std::string::npos);
  EXPECT_NE(refusal(rank_file({"ab", "ab"})).find("there before, as rank 256"), std::string::npos);
  EXPECT_NE(refusal(rank_file({"a long one, of many", "a long one, of many"})).find("there before"),
            std::string::npos);
  EXPECT_NE(refusal(rank_file({std::string(1025, 'a')})).find("1025 bytes"), std::string::npos);
}

TEST(Tokenizer, RefusesAnotherFileUnderAPublishedName) {
  const Scratch scratch;
  const auto own = scratch.path() / "mine.tiktoken", stub = scratch.path() / "cl100k_base.tiktoken";
  write_file(own, rank_file({}));
  write_file(stub, rank_file({}));
  EXPECT_EQ(tokenizer_of_ranks(own), "cl100k");
  EXPECT_THROW(tokenizer_of_ranks(stub), Error);
}

TEST(Tokenizer, CountsBytesThatAreNoCharacters) {
  EXPECT_EQ(bytes_outside_utf8("plain, \xC3\xA9, \xE4\xB8\x96, \xF0\x9F\x98\x80"), 0);
  EXPECT_EQ(bytes_outside_utf8("caf\xE9"), 1);
  EXPECT_EQ(bytes_outside_utf8("\xC0\x80"), 2);      // longer than it need be
  EXPECT_EQ(bytes_outside_utf8("\xED\xA0\x80"), 3);  // half of a pair
  EXPECT_EQ(bytes_outside_utf8("\xF4\x90\x80\x80"), 4);
  EXPECT_EQ(bytes_outside_utf8("\xF0\x9F\x98"), 3);
}

}  // namespace
}  // namespace darope
