#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/open.h"
#include "data/prepared/preparation.h"
#include "scratch.h"

namespace darope {
namespace {

constexpr int64_t kLength = 12;

// Night i of a split counts up from 60 i, so that a token tells its night and its place.
void prepare_nights(const std::filesystem::path& out, const std::vector<int64_t>& lengths) {
  Preparation preparation(find_kind("bonn"), {.source = "", .out = out});
  preparation.set_vocabulary(256);
  for (const Split split : {Split::train, Split::validation, Split::test})
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::vector<uint16_t> night;
      for (int64_t t = 0; t < lengths[i]; ++t) night.push_back(uint16_t(60 * int64_t(i) + t));
      preparation.add(split, std::string(name_of(split)) + std::to_string(i), night);
    }
  preparation.finish();
}

DataConfig config_of(const std::filesystem::path& folder) {
  DataConfig config;
  config.root_dir = folder.string();
  config.batch_size = 16;
  config.seq_len = kLength;
  return config;
}

// Nights of 40, 11, 25 and 12: 29, none, 14 and one legal starts.
TEST(Windows, EveryLegalStartIsAsLikely) {
  const Scratch scratch;
  prepare_nights(scratch / "set", {40, 11, 25, 12});
  const Dataset data = open_dataset(config_of(scratch / "set"), 1, 100);
  std::map<int64_t, int64_t> starts;
  for (int64_t i = 0; i < 550; ++i) {
    const Batch batch = data.train->at(i);
    ASSERT_EQ(batch.tokens.sizes(), (std::vector<int64_t>{16, kLength}));
    for (int64_t row = 0; row < 16; ++row) {
      const int64_t first = batch.tokens[row][0].item<int64_t>();
      ++starts[first];
      ASSERT_EQ(batch.tokens[row][kLength - 1].item<int64_t>(),
                first + kLength - 1);  // never over the end of a night
      ASSERT_EQ(batch.targets[row * kLength].item<int64_t>(), first + 1);
    }
  }
  ASSERT_EQ(starts.size(), 44u);
  for (const auto& [start, times] : starts) EXPECT_NEAR(double(times), 200, 5 * std::sqrt(200)) << start;
}

TEST(Windows, ABatchIsAFunctionOfSeedAndIndex) {
  const Scratch scratch;
  prepare_nights(scratch / "set", {40, 25});
  const Dataset a = open_dataset(config_of(scratch / "set"), 1, 100),
                b = open_dataset(config_of(scratch / "set"), 1, 100);
  const Dataset other = open_dataset(config_of(scratch / "set"), 2, 100);
  const Tensor third = a.train->at(3).tokens;
  EXPECT_TRUE(at::equal(b.train->at(3).tokens, third));
  EXPECT_FALSE(at::equal(a.train->at(4).tokens, third));
  EXPECT_FALSE(at::equal(other.train->at(3).tokens, third));
}

TEST(Windows, TestWindowsLieSideBySide) {
  const Scratch scratch;
  prepare_nights(scratch / "set", {40, 11, 25});
  const Dataset data = open_dataset(config_of(scratch / "set"), 1, 100);
  const TestSet& test = *data.tests[0].set;
  ASSERT_EQ(test.size(), 5);  // three and two; the rests of 4, 11 and 1 are too short
  const std::vector<int64_t> expected = {0, 12, 24, 120, 132};
  for (int64_t i = 0; i < 5; ++i)
    EXPECT_EQ(test.read(i, 1).tokens[0][0].item<int64_t>(), expected[size_t(i)]);
  EXPECT_EQ(test.read(1, 4).tokens.size(0), 4);
  EXPECT_EQ(data.validation->size(), 5);
}

TEST(Windows, RefusesALengthThatNoNightHas) {
  const Scratch scratch;
  prepare_nights(scratch / "set", {11});
  expect_contains(error_of([&] { open_dataset(config_of(scratch / "set"), 1, 100); }), "data.seq_len is 12");
}

// The manifest of a genome lists which windows have no unknown base.
TEST(NFree, ReachesTheTestSet) {
  using Case = std::tuple<const char*, std::vector<int64_t>, const char*>;
  for (const auto& [ranges, found, complaint] :
       {Case{"[[0,1],[3,3]]", {0, 1, 3}, ""}, Case{"[[2,1]]", {}, "[2,1]"},
        Case{"[[0,4]]", {}, "stay below 4"}, Case{"[[1,1],[1,2]]", {}, "rise"}, Case{"[3]", {}, "pairs"},
        Case{"7", {}, "should list"}}) {
    const Scratch scratch;
    Preparation preparation(find_kind("fasta"), {.source = "", .out = scratch / "set"});
    preparation.set_vocabulary(4107, 'T' + 1);
    for (const Split split : {Split::train, Split::validation, Split::test})
      for (int i = 0; i < 4; ++i)
        preparation.add(split, std::string(name_of(split)), std::vector<uint16_t>(6100, 'A'));
    preparation.fact("n_free", {{"test", nlohmann::ordered_json::parse(ranges)}});
    preparation.finish();
    std::vector<int64_t> got;
    expect_contains(error_of([&] { got = open_dataset(config_of(scratch / "set"), 1, 10).tests[0].n_free; }),
                    complaint);
    EXPECT_EQ(got, found);
  }
}

}  // namespace
}  // namespace darope
