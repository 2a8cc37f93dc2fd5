#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "scratch.h"

namespace darope {
namespace {

std::span<const std::byte> view(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string file_of(const std::string& header, const std::string& data = "") {
  std::string out;
  for (int i = 0; i < 8; ++i) out += char(header.size() >> (8 * i));
  return out + header + data;
}
std::string complaint(const std::string& file) {
  return error_of([&] { parse_safetensors(view(file), "x"); });
}
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
}

TEST(Safetensors, WritesTheKnownBytes) {
  const Scratch folder;
  const float values[] = {1, 2};
  FileWriter out(folder / "a.safetensors");
  write_safetensors(out, {{"a", Dtype::kF32, {2}, [&] { return std::as_bytes(std::span(values)); }}});
  out.commit();
  EXPECT_EQ(
      read_file(folder / "a.safetensors"),
      file_of(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})" +
                  std::string(3, ' '),
              std::string("\0\0\x80\x3f\0\0\0\x40", 8)));
}

TEST(Safetensors, ReadsWhatItWroteWhateverTheOrder) {
  const Scratch folder;
  const std::string eight = "12345678", two = "ab", nothing;
  const std::vector<TensorToWrite> tensors = {{"z", Dtype::kF32, {1, 2}, [&] { return view(eight); }},
                                              {"b", Dtype::kBF16, {}, [&] { return view(two); }},
                                              {"a", Dtype::kBF16, {3, 0}, [&] { return view(nothing); }},
                                              {"flags", Dtype::kBOOL, {2}, [&] { return view(two); }}};
  std::string first;
  for (auto order : {tensors, std::vector(tensors.rbegin(), tensors.rend())}) {
    FileWriter out(folder / "t.safetensors");
    write_safetensors(out, order);
    out.commit();
    if (first.empty()) first = read_file(folder / "t.safetensors");
    EXPECT_EQ(read_file(folder / "t.safetensors"), first);
  }
  const SafetensorsFile file(folder / "t.safetensors");
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.tensors()[0].name, "z");
  EXPECT_EQ(file.at("a").shape, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(file.at("b").dtype, Dtype::kBF16);
  EXPECT_EQ(std::memcmp(file.at("z").bytes.data(), eight.data(), 8), 0);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  expect_contains(error_of([&] { file.at("flag"); }), "no tensor 'flag'; the nearest is 'flags'");
}

TEST(Safetensors, WriterRefusesNonsense) {
  const Scratch folder;
  const std::string two = "ab";
  FileWriter out(folder / "x");
  const auto bytes = [&] { return view(two); };
  expect_contains(error_of([&] { write_safetensors(out, {{"a", Dtype::kU8, {3}, bytes}}); }),
                  "more or fewer bytes");
  expect_contains(error_of([&] {
                    write_safetensors(out, {{"a", Dtype::kU8, {2}, bytes}, {"a", Dtype::kU8, {2}, bytes}});
                  }),
                  "two tensors");
  expect_contains(error_of([&] { write_safetensors(out, {{"a", Dtype::kF4, {3}, bytes}}); }),
                  "no whole number of bytes");
}

TEST(Safetensors, AllowsPaddingAndEmptiness) {
  EXPECT_EQ(complaint(file_of("{}")), "");
  EXPECT_EQ(complaint(file_of("{}   ")), "");
  EXPECT_EQ(complaint(file_of("{\"a\":" + entry("F32", "", "0,4") + "}", "1234")), "");
  EXPECT_EQ(complaint(file_of(
                "{\"a\":" + entry("F32", "0,5", "0,0") + ",\"b\":" + entry("F4", "2", "0,1") + "}", "1")),
            "");
}

TEST(Safetensors, RefusesHostileLengths) {
  expect_contains(complaint(""), "too few");
  expect_contains(complaint(std::string(8, '\xff')), "over the limit");
  expect_contains(complaint(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + "{"), "over the limit of 100000000");
  expect_contains(complaint(std::string("\x10\0\0\0\0\0\0\0", 8) + "{}"), "does not fit a file of 10");
  expect_contains(complaint(file_of("")), "does not begin with '{'");
  expect_contains(complaint(file_of(" {}")), "does not begin with '{'");
}

TEST(Safetensors, RefusesBrokenHeaders) {
  const std::string four = "1234";
  const auto one = [&](const std::string& value) {
    return complaint(file_of("{\"a\":" + value + "}", four));
  };
  EXPECT_EQ(one(entry("F32", "1", "0,4")), "");
  expect_contains(one(entry("F33", "1", "0,4")), "unknown dtype");
  expect_contains(one(entry("F32", "1", "0,8")), "cut short");
  expect_contains(one(entry("F32", "2", "0,4")), "does not match");
  expect_contains(one(entry("F32", "1", "4,0")), "begin <= end");
  expect_contains(one(entry("F32", "1", "0,4,4")), "begin <= end");
  expect_contains(one(entry("F32", "-1", "0,4")), "no size");
  expect_contains(one(entry("F32", "1.0", "0,4")), "no size");
  expect_contains(one(entry("F32", "1", "-4,0")), "no size");
  expect_contains(one(entry("F32", "4294967296,4294967296,1", "0,4")), "does not match");  // wraps to 0 bytes
  expect_contains(one(entry("F32", "4611686018427387904,4611686018427387905", "0,4")),
                  "does not match");  // wraps to 4 bytes
  expect_contains(one(entry("F4", "7", "0,4")), "does not match");
  expect_contains(one(R"({"dtype":"F32","shape":[1]})"), "and no more");
  expect_contains(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})"), "and no more");
  expect_contains(one("[]"), "and no more");
  expect_contains(complaint(file_of("{\"a\":1,\"a\":2}")), "stands twice");
  expect_contains(complaint(file_of("{\"\xff\":1}")), "not JSON");
  expect_contains(complaint(file_of("{} {}")), "not JSON");
  expect_contains(complaint(file_of(R"({"__metadata__":{"a":1}})")), "no string");
  expect_contains(complaint(file_of(R"({"__metadata__":[]})")), "no object");
}

TEST(Safetensors, RefusesHolesOverlapsAndRests) {
  const auto two = [&](const std::string& a, const std::string& b, const std::string& data) {
    return complaint(file_of("{\"a\":" + entry("U8", "2", a) + ",\"b\":" + entry("U8", "2", b) + "}", data));
  };
  EXPECT_EQ(two("0,2", "2,4", "1234"), "");
  EXPECT_EQ(two("2,4", "0,2", "1234"), "");
  expect_contains(two("0,2", "3,5", "12345"), "hole or overlaps");
  expect_contains(two("0,2", "1,3", "123"), "hole or overlaps");
  expect_contains(two("0,2", "0,2", "12"), "hole or overlaps");
  expect_contains(two("1,3", "3,5", "12345"), "hole or overlaps");
  expect_contains(two("0,2", "2,4", "12345"), "belong to no tensor");
  expect_contains(complaint(file_of("{}", "1")), "belong to no tensor");
}

}  // namespace
}  // namespace darope
