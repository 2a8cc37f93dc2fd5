#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "data/midi/remi.h"
#include "data/open.h"
#include "data/prepared/preparation.h"
#include "scratch.h"

namespace darope {
namespace {

constexpr int64_t kPieces = 7, kLength = 12;

// Piece i has i + 4 tokens: one that tells it from the others, counted from `first`, then `note` again and
// again. The last piece of train is too long for the context.
void prepare(const std::filesystem::path& out, const char* kind, int first, uint16_t note) {
  Preparation preparation(find_kind(kind), {.source = "", .out = out, .seed = 0});
  preparation.set_vocabulary(remi::kVocabulary);
  for (const Split split : {Split::train, Split::validation, Split::test})
    for (uint16_t i = 0; i < (split == Split::train ? kPieces : 2); ++i) {
      std::vector<uint16_t> piece(size_t(i == kPieces - 1 ? 30 : i + 4), note);
      piece[0] = uint16_t(first + i + 20 * int(split));
      preparation.add(split, std::string(name_of(split)) + std::to_string(i), piece);
    }
  preparation.finish();
}

DataConfig config_of(const std::filesystem::path& folder) {
  DataConfig config;
  config.root_dir = folder.string() + "/";
  config.batch_size = 3;
  config.seq_len = kLength;
  return config;
}

std::vector<int64_t> first_tokens(const Batch& batch) {
  std::vector<int64_t> out;
  for (int64_t row = 0; row < batch.tokens.size(0); ++row)
    out.push_back(batch.tokens[row][0].item<int64_t>());
  return out;
}

class SequenceData : public testing::Test {
 protected:
  SequenceData() { prepare(scratch_ / "set", "jsb", 2, 41); }
  Dataset open(uint64_t seed) const { return open_dataset(config_of(scratch_ / "set"), seed, 100); }

  // The order in which the stream presents the pieces, by their first tokens.
  std::vector<int64_t> order(uint64_t seed, int64_t batches) const {
    std::vector<int64_t> out;
    const Dataset data = open(seed);
    for (int64_t i = 0; i < batches; ++i)
      for (const int64_t first : first_tokens(data.train->at(i))) out.push_back(first);
    return out;
  }
  Scratch scratch_;
};

TEST_F(SequenceData, TargetsAreWhatFollowsAndNothingElseCounts) {
  const Dataset data = open(1);
  EXPECT_EQ(data.name, "set");
  EXPECT_EQ(data.family, "jsb");
  EXPECT_EQ(data.vocabulary, remi::kVocabulary);
  EXPECT_EQ(data.measure, Measure::nll);
  const Batch batch = data.tests.at(0).set->read(0, 2);
  ASSERT_EQ(batch.tokens.sizes(), (std::vector<int64_t>{2, kLength}));
  EXPECT_FALSE(batch.rows.defined());  // every place has its slot
  ASSERT_EQ(batch.targets.size(0), 2 * kLength);
  for (int64_t row = 0; row < 2; ++row) {
    const int64_t length = row + 4;
    for (int64_t i = 0; i < kLength; ++i) {
      const int64_t place = row * kLength + i;
      EXPECT_EQ(batch.weight[place].item<float>(), i + 1 < length ? 1 : 0);
      if (i + 1 < length) {
        EXPECT_EQ(batch.targets[place].item<int64_t>(), batch.tokens.flatten()[place + 1].item<int64_t>());
      }
    }
    EXPECT_EQ(batch.tokens[row][0].item<int64_t>(), 42 + row);
    EXPECT_EQ(batch.tokens[row].eq(41).sum().item<int64_t>(), length - 1);
    EXPECT_EQ(batch.tokens[row].eq(0).sum().item<int64_t>(), kLength - length);
  }
}

TEST_F(SequenceData, EverySplitIsItsOwn) {
  const Dataset data = open(1);
  ASSERT_EQ(data.tests.size(), 1u);
  EXPECT_EQ(data.tests[0].multiple, 1);
  EXPECT_EQ(data.tests[0].set->size(), 2);
  ASSERT_NE(data.validation, nullptr);
  EXPECT_EQ(first_tokens(data.validation->read(0, 2)), (std::vector<int64_t>{22, 23}));
  EXPECT_EQ(first_tokens(data.tests[0].set->read(0, 2)), (std::vector<int64_t>{42, 43}));
}

// 7 pieces in batches of 3: a batch runs on over the end of an epoch, and no epoch loses its rest.
TEST_F(SequenceData, EveryEpochHasEveryPieceOnce) {
  const std::vector<int64_t> seen = order(1, 14);
  ASSERT_EQ(seen.size(), 42u);
  std::set<std::vector<int64_t>> orders;
  for (size_t epoch = 0; epoch < 6; ++epoch) {
    const std::vector<int64_t> one(seen.begin() + ptrdiff_t(7 * epoch),
                                   seen.begin() + ptrdiff_t(7 * epoch + 7));
    EXPECT_EQ(std::set<int64_t>(one.begin(), one.end()), (std::set<int64_t>{2, 3, 4, 5, 6, 7, 8}));
    orders.insert(one);
  }
  EXPECT_GE(orders.size(), 5u);
  EXPECT_EQ(order(1, 14), seen);
  EXPECT_NE(order(2, 14), seen);
}

TEST_F(SequenceData, ABatchFollowsFromItsNumberAlone) {
  const Dataset forth = open(1), back = open(1);
  for (int64_t i = 0; i < 10; ++i) forth.train->at(i);
  for (int64_t i = 9; i >= 0; --i) {
    const Batch a = forth.train->at(i), b = back.train->at(i);
    EXPECT_TRUE(at::equal(a.tokens, b.tokens) && at::equal(a.targets, b.targets));
    EXPECT_TRUE(at::equal(a.weight, b.weight));
    EXPECT_EQ(a.tokens.sizes(), (std::vector<int64_t>{3, kLength}));
  }
}

TEST_F(SequenceData, OneSourceIsGiven) {
  DataConfig config = config_of(scratch_ / "set");
  config.task = "parity";
  expect_contains(error_of([&] { open_dataset(config, 1, 10); }), "data.root_dir");
  config.task = "";
  config.root_dir = (scratch_ / "none").string();
  expect_contains(error_of([&] { open_dataset(config, 1, 10); }), "no manifest.json");
}

// Pitches in training move together by -3 to 3, as far as the piano goes; what is no pitch stays, and so does
// the test.
TEST(Transposition, MovesPitchesInTrainingAlone) {
  for (const auto& [pitch, lowest, highest] : {std::array{60, -3, 3}, {22, -1, 3}, {108, -3, 0}}) {
    const Scratch scratch;
    prepare(scratch / "set", "midi", remi::kVelocity, uint16_t(remi::kPitch + pitch - remi::kLowestPitch));
    const Dataset data = open_dataset(config_of(scratch / "set"), 1, 100);
    std::map<int64_t, int64_t> shifts;
    for (int64_t i = 0; i < 700; ++i) {
      const Tensor tokens = data.train->at(i).tokens;
      for (int64_t row = 0; row < 3; ++row) {
        const int64_t shifted = tokens[row][1].item<int64_t>();
        ++shifts[shifted - remi::kPitch + remi::kLowestPitch - pitch];
        EXPECT_EQ(tokens[row][2].item<int64_t>(), shifted);
      }
    }
    EXPECT_EQ(shifts.begin()->first, lowest);
    EXPECT_EQ(shifts.rbegin()->first, highest);
    const double expected = 2100.0 / (highest - lowest + 1);
    for (const auto& [shift, times] : shifts)
      EXPECT_NEAR(double(times), expected, 5 * std::sqrt(expected)) << shift;
    EXPECT_EQ(data.tests[0].set->read(0, 1).tokens[0][1].item<int64_t>(),
              remi::kPitch + pitch - remi::kLowestPitch);
  }
}

}  // namespace
}  // namespace darope
