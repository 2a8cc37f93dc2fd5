#include "base/json.h"

#include <gtest/gtest.h>

#include "scratch.h"

namespace darope {
namespace {

std::string complaint(const std::string& text) {
  return error_of([&] { parse_json(text, "x.json"); });
}

TEST(Json, Reads) {
  const Json json = parse_json(R"({"a": [1, -2, 2.5, 18446744073709551615], "b": {"a": "é\n"}})", "x.json");
  EXPECT_EQ(json["a"][2], 2.5);
  EXPECT_EQ(json["a"][3].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(json["b"]["a"], "é\n");
}

TEST(Json, RefusesWhatReadersDisagreeOn) {
  EXPECT_EQ(complaint(R"({"a": 1, "b": {"c": 1, "c": 2}})"),
            "x.json: the key 'c' stands twice in one object");
  EXPECT_EQ(complaint(R"([{"c": 1}, {"c": 2}])"), "");
  expect_contains(complaint("[18446744073709551616]"),
                  "the integer 18446744073709551616 does not fit 64 bits");
  expect_contains(complaint("[-9223372036854775809]"), "does not fit 64 bits");
  expect_contains(complaint("[1e999]"), "number overflow");
  expect_contains(complaint("[NaN]"), "not JSON");
  expect_contains(complaint("[1] x"), "not JSON at byte");
  expect_contains(complaint(""), "not JSON");
  expect_contains(complaint("[\"\xff\"]"), "not JSON");
}

TEST(Json, LimitsDepthAndSize) {
  EXPECT_EQ(complaint(std::string(64, '[') + std::string(64, ']')), "");
  expect_contains(complaint(std::string(65, '[') + std::string(65, ']')), "nested more than 64 deep");
  expect_contains(complaint(std::string(1'000'000, '[')), "nested more than 64 deep");
  expect_contains(error_of([] { parse_json("[1,2,3]", "body", 6); }),
                  "body: 7 bytes of JSON, more than the 6");
}

}  // namespace
}  // namespace darope
