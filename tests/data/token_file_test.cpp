#include "data/text/token_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

#include "data/text/held_out.h"
#include "data/text/jsonl.h"
#include "data/text/tokenizer.h"
#include "scratch.h"

namespace darope {
namespace {

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}
std::string llmc(int32_t magic, int32_t version, int32_t count, const std::string& tokens) {
  return raw<int32_t>({magic, version, count}) + std::string(253 * 4, '\0') + tokens;
}
std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string out = std::string("\x93NUMPY") + char(version) + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += char(header.size() >> (8 * i));
  return out + header + data;
}
std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data,
                   const std::string& fortran = "False") {
  return npy("{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n",
             data);
}
std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}
std::string zstd(const std::string& text, int window_log = 0) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string out(ZSTD_compressBound(text.size()) + 100, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer room{out.data(), out.size(), 0};
  ZSTD_compressStream2(context, &room, &in,
                       ZSTD_e_continue);  // in two calls, so that the window is not fitted to the size
  ZSTD_compressStream2(context, &room, &in, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  out.resize(room.pos);
  return out;
}

class TokenFile : public testing::Test {
 protected:
  TokenSource open(const std::string& name, const std::string& bytes,
                   std::optional<int64_t> vocabulary = std::nullopt) {
    write_file(folder_ / name, bytes);
    return open_tokens(folder_ / name, vocabulary);
  }
  std::string complaint(const std::string& name, const std::string& bytes) {
    return error_of([&] { open(name, bytes); });
  }
  static std::vector<int64_t> all(const TokenSource& source) {
    std::vector<int64_t> out(size_t(source.size()));
    source.read(0, out);
    return out;
  }
  Scratch folder_;
};
using Ids = std::vector<int64_t>;

TEST_F(TokenFile, NanoGptBin) {
  const TokenSource source = open("train.bin", raw<uint16_t>({5, 65535, 7}));
  EXPECT_EQ(all(source), (Ids{5, 65535, 7}));
  EXPECT_EQ(source.vocabulary(), 65536);
  EXPECT_EQ(source.document_starts(), Ids{0});
  Ids two(2);
  source.read(1, two);
  EXPECT_EQ(two, (Ids{65535, 7}));
  expect_contains(error_of([&] { source.read(2, two); }), "has 3 tokens; 2 from token 2 on are not there");
  expect_contains(error_of([&] { source.read(-1, two); }), "not there");
  expect_contains(error_of([&] { source.read(INT64_MAX, two); }), "not there");
  expect_contains(complaint("odd.bin", "abc"), "3 bytes, an odd number");
  expect_contains(complaint("empty.bin", ""), "is empty");
}

TEST_F(TokenFile, VocabularyComesFromMetaJsonOrTheCaller) {
  write_file(folder_ / "meta.json", "{\"vocab_size\": 65}");
  EXPECT_EQ(open("a.bin", raw<uint16_t>({1, 64})).vocabulary(), 65);
  const TokenSource wrong = open("b.bin", raw<uint16_t>({1, 65}));
  expect_contains(error_of([&] { all(wrong); }), "token 1 has id 65, outside its vocabulary of 65");
  EXPECT_EQ(open("b.bin", raw<uint16_t>({1, 65}), 100).vocabulary(), 100);
  for (const char* bad :
       {"{}", "[]", "{\"vocab_size\": 0}", "{\"vocab_size\": 1.5}", "{\"vocab_size\": \"9\"}"}) {
    write_file(folder_ / "meta.json", bad);
    expect_contains(complaint("a.bin", raw<uint16_t>({1})),
                    "meta.json should be an object with a vocab_size from 1 to 4294967296");
  }
}

TEST_F(TokenFile, LlmcBin) {
  EXPECT_EQ(all(open("a.bin", llmc(20240520, 1, 2, raw<uint16_t>({3, 50256})))), (Ids{3, 50256}));
  EXPECT_EQ(all(open("a.bin", llmc(20240801, 7, 2, raw<uint32_t>({3, 128000})))), (Ids{3, 128000}));
  expect_contains(complaint("a.bin", llmc(20240520, 1, 3, raw<uint16_t>({3, 4}))),
                  "promises 3 tokens of 2 bytes but 4 bytes follow");
  expect_contains(complaint("a.bin", llmc(20240520, 1, -1, raw<uint16_t>({3, 4}))), "promises -1 tokens");
  expect_contains(complaint("a.bin", llmc(20240801, 7, 1 << 30, "")),
                  "promises 1073741824 tokens of 4 bytes but 0 bytes");
  expect_contains(complaint("a.bin", llmc(20240520, 7, 1, raw<uint16_t>({3}))),
                  "version 7; version 1 belongs to it");
  expect_contains(complaint("a.bin", raw<int32_t>({20240520, 1})), "fewer than the 1024 of an llm.c header");
  expect_contains(complaint("a.bin", llmc(20240522, 1, 1, raw<uint16_t>({3}))), "evaluation file");
}

TEST_F(TokenFile, Npy) {
  EXPECT_EQ(all(open("a.npy", npy_of("<u2", "(3,)", raw<uint16_t>({1, 2, 40000})))), (Ids{1, 2, 40000}));
  EXPECT_EQ(all(open("a.npy", npy_of("|u1", "(2, 2)", "abcd"))), (Ids{97, 98, 99, 100}));
  EXPECT_EQ(all(open("a.npy", npy_of("<i8", "()", raw<int64_t>({7})))), Ids{7});
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_EQ(all(open("a.npy", npy(header, raw<int32_t>({9}), 2))), Ids{9});
  EXPECT_EQ(all(open("a.npy", npy(header, raw<int32_t>({9}), 3))), Ids{9});
  expect_contains(complaint("a.npy", npy(header, raw<int32_t>({-9}))),
                  "token 0 has id -9; ids go from 0 to 4294967295");
  expect_contains(complaint("a.npy", npy_of("<i8", "(1,)", raw<int64_t>({int64_t{1} << 32}))),
                  "has id 4294967296");
  expect_contains(complaint("a.npy", npy_of("<u8", "(1,)", raw<uint64_t>({UINT64_MAX}))), "ids go from 0");
}

TEST_F(TokenFile, NpyThatIsNotWhatItSays) {
  const std::string four = "1234";
  expect_contains(complaint("a.npy", raw<uint16_t>({1, 2, 3})), "does not begin as a NumPy file");
  expect_contains(complaint("a.npy", "\x93NUMPY"), "cut short");
  expect_contains(complaint("a.npy", npy("{}", four, 4)), "version is not 1, 2 or 3");
  expect_contains(complaint("a.npy", npy_of("|O", "(1,)", four)), "holds '|O'");
  expect_contains(complaint("a.npy", npy_of("<f4", "(1,)", four)), "holds '<f4'");
  expect_contains(complaint("a.npy", npy_of(">u2", "(2,)", four)), "holds '>u2'");
  expect_contains(complaint("a.npy", npy_of("<u2", "(2,)", four, "True")), "Fortran order");
  expect_contains(complaint("a.npy", npy_of("<u2", "(3,)", four)),
                  "promises 3 tokens of 2 bytes but 4 bytes follow");
  expect_contains(complaint("a.npy", npy_of("<u2", "(0,)", "")), "is empty");
  expect_contains(complaint("a.npy", npy_of("<u2", "(-1,)", four)), "not a tuple of sizes");
  expect_contains(complaint("a.npy", npy_of("<u2", "(4294967296, 4294967296)", four)),
                  "more entries than can be counted");
  expect_contains(complaint("a.npy", npy_of("<u2", "(9223372036854775810,)", four)),
                  "promises");  // times 2 wraps to 4
  expect_contains(
      complaint("a.npy", npy("{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (2,)}", four)),
      "records");
  expect_contains(complaint("a.npy", npy("{'descr': '<u2', 'fortran_order': False}", four)), "and no more");
  expect_contains(complaint("a.npy", npy("{'descr': '<u2', 'descr': '<u2'}", four)), "once too often");
  expect_contains(complaint("a.npy", npy("{'descr': '<u2", four)), "string without an end");
  expect_contains(complaint("a.bin", npy_of("<u2", "(2,)", four)), "name it .npy");
  std::string huge = npy("{}", "", 2);
  huge[11] = '\x7f';
  expect_contains(complaint("a.npy", huge), "does not fit a file");
}

TEST_F(TokenFile, TextIsBytes) {
  const TokenSource source = open("a.txt", "h\xc3\xa9\n");
  EXPECT_EQ(all(source), (Ids{'h', 0xC3, 0xA9, '\n'}));
  EXPECT_EQ(source.vocabulary(), 257);
  expect_contains(complaint("a.txt", ""), "is empty");
  expect_contains(error_of([&] { open_tokens(folder_ / "none.txt"); }), "no such file");
}

TEST_F(TokenFile, JsonlPlainAndPacked) {
  const std::string first = "{\"text\": \"ab\", \"id\": 1}\r\n\n", second = "{\"content\": \"\\u00e9\"}";
  const Ids expected = {'a', 'b', 256, 0xC3, 0xA9, 256};
  for (const auto& [name, bytes] :
       {std::pair("a.jsonl", first + second), std::pair("a.jsonl", first + second + "\n"),
        std::pair("a.jsonl.gz", gzip(first + second)), std::pair("a.jsonl.gz", gzip(first) + gzip(second)),
        std::pair("a.jsonl.zst", zstd(first + second)),
        std::pair("a.jsonl.zst", zstd(first) + zstd(second))}) {
    const TokenSource source = open(name, bytes);
    EXPECT_EQ(all(source), expected) << name;
    EXPECT_EQ(source.document_starts(), (Ids{0, 3})) << name;
    EXPECT_EQ(source.vocabulary(), 257);
  }
}

TEST_F(TokenFile, JsonlThatIsNotWhatItSays) {
  const std::string good = "{\"text\": \"ab\"}\n";
  expect_contains(complaint("a.jsonl", ""), "is empty");
  expect_contains(complaint("a.jsonl", "\n \n"), "holds no document");
  expect_contains(complaint("a.jsonl", good + "{\"text\": 1}"),
                  "a.jsonl:2: each line should be an object with a string `text`");
  expect_contains(complaint("a.jsonl", good + "[]"), "a.jsonl:2: each line");
  expect_contains(complaint("a.jsonl", good + "\n{\"text\": \"a"), "a.jsonl:3: not JSON");
  expect_contains(complaint("a.jsonl", "{\"text\": \"a\", \"text\": \"b\"}"), "stands twice");
  const std::string gz = gzip(good), zst = zstd(good);
  expect_contains(complaint("a.jsonl.gz", gz.substr(0, gz.size() - 3)), "cut short");
  expect_contains(complaint("a.jsonl.gz", gz.substr(0, 5)), "cut short");
  expect_contains(complaint("a.jsonl.gz", good), "damaged or not gzip");
  expect_contains(complaint("a.jsonl.gz", gz + "x"), "gzip");
  std::string flipped = gz;
  flipped[flipped.size() - 6] ^= 1;
  expect_contains(complaint("a.jsonl.gz", flipped), "incorrect data check");
  expect_contains(complaint("a.jsonl.zst", zst.substr(0, zst.size() - 3)), "cut short");
  expect_contains(complaint("a.jsonl.zst", good), "damaged or not zstd");
}

TEST_F(TokenFile, BombsStopEarly) {
  const std::string document = "{\"text\": \"" + std::string(50'000, 'a') + "\"}\n";
  std::string many;
  for (int i = 0; i < 100; ++i) many += document;
  expect_contains(complaint("a.jsonl.gz", gzip(many)), "more than 200 times its size");
  expect_contains(complaint("a.jsonl.zst", zstd(many)), "more than 200 times its size");
  expect_contains(complaint("a.jsonl.zst", zstd(many, 28)), "Frame requires too much memory");
  const auto limited = [&](const JsonlLimits& limits) {
    return error_of([&] {
      parse_jsonl(std::as_bytes(std::span(many)), "a.jsonl", limits, {.document = [](std::string_view) {}});
    });
  };
  expect_contains(limited({.line_bytes = 40'000}), "a.jsonl:1: the line is longer than 40000 bytes");
  expect_contains(limited({.unpack = {.total_bytes = 1'000'000}}), "more than 1000000 bytes of text");
  EXPECT_EQ(limited({}), "");
}

TEST(Tokenizer, BytesGoThereAndBack) {
  const auto bytes = find_tokenizer("bytes");
  std::string text;
  for (int c = 0; c < 256; ++c) text += char(c);
  std::vector<int64_t> ids = bytes->encode(text);
  ASSERT_EQ(ids.size(), 256u);
  for (int64_t c = 0; c < 256; ++c) EXPECT_EQ(ids[size_t(c)], c);
  ids.push_back(bytes->end_of_document());
  EXPECT_EQ(bytes->decode(ids), text);
  EXPECT_EQ(bytes->vocabulary(), 257);
  expect_contains(error_of([] { find_tokenizer("byte"); }), "did you mean 'bytes'");
}

// Of few documents the end of each, of many small ones whole ones; none is lost, and each is in one place.
TEST_F(TokenFile, WhatIsHeldOutIsOfEveryDocumentOrOfMany) {
  const auto folder_of = [&](const std::string& name, int files, size_t bytes) {
    std::filesystem::create_directories(folder_ / name);
    for (int i = 0; i < files; ++i)
      write_file(folder_ / name / fmt::format("{:03}.txt", i), std::string(bytes, char(i) + 1));
    return open_tokens(folder_ / name);
  };
  const TokenSource books = folder_of("books", 3, 99), notes = folder_of("notes", 100, 9);
  const auto ids_behind = [](const HeldOut& held) {
    Ids kept(size_t(held.source.size() - held.begin));
    held.source.read(held.begin, kept);
    return kept;
  };
  const HeldOut of_books = hold_out(books, 0.1), of_notes = hold_out(notes, 0.1);
  EXPECT_FALSE(of_books.whole_documents);
  Ids ends;
  for (const int64_t book : {1, 2, 3}) {
    ends.insert(ends.end(), 9, book);
    ends.push_back(kEndOfDocument);
  }
  EXPECT_EQ(ids_behind(of_books), ends);
  EXPECT_EQ(of_books.source.document_starts(), (Ids{0, 90, 180, 270, 280, 290}));
  EXPECT_TRUE(of_notes.whole_documents);
  Ids whole;
  for (int64_t note = 5; note <= 100; note += 10) {
    whole.insert(whole.end(), 9, note);
    whole.push_back(kEndOfDocument);
  }
  EXPECT_EQ(ids_behind(of_notes), whole);
  for (const auto& [before, held] : {std::pair(&books, &of_books), std::pair(&notes, &of_notes)}) {
    Ids first = all(*before), second = all(held->source);
    std::ranges::sort(first), std::ranges::sort(second);
    EXPECT_EQ(first, second);
  }
  EXPECT_EQ(hold_out(open("one.txt", std::string(101, 'x')), 0.1).begin, 90);
}

}  // namespace
}  // namespace darope
