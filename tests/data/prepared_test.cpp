#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "base/json.h"
#include "data/prepared/audit.h"
#include "data/prepared/preparation.h"
#include "data/prepared/prepared_data.h"
#include "scratch.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

std::vector<uint16_t> counting(uint16_t first, size_t count) {
  std::vector<uint16_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = uint16_t((first + i) % 90);
  return out;
}

// Two items of two sequences in train, one of one elsewhere.
Manifest make(const fs::path& out) {
  Preparation preparation(find_kind("jsb"), {.source = "", .out = out, .seed = 0});
  preparation.set_vocabulary(90);
  preparation.source("a.json", "text");
  for (const char* item : {"a", "b"})
    for (const int first : {3, 4})
      preparation.add(Split::train, item, counting(uint16_t(first + item[0]), 100));
  preparation.add(Split::validation, "c", counting(50, 7));
  preparation.skip("x.json", BadInput("it ends early", 12));
  preparation.skip("y.json", Error("permission denied"));
  preparation.add(Split::test, "d", counting(3 + 'a' + 10, 70));
  return preparation.finish();
}

std::string text_of(const fs::path& file) { return read_file(file); }

void replace_in(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = text_of(file);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  write_file(file, text.replace(at, from.size(), to));
}

// As the first format had it, without its own hash.
void unseal(const fs::path& manifest) {
  const std::string text = text_of(manifest);
  write_file(manifest, text.substr(0, text.rfind(",\n \"sha256\"")) + "\n}\n");
  replace_in(manifest, "\"format\": 2", "\"format\": 1");
}

std::string open_error(const fs::path& folder) {
  return error_of([&] { const PreparedData data(folder); });
}

TEST(Prepared, GivesBackWhatWentIn) {
  const Scratch scratch;
  make(scratch / "set");
  const PreparedData data(scratch / "set");
  ASSERT_EQ(data[Split::train].size(), 4);
  const std::vector<uint16_t> expected = counting('b' + 4, 100);
  EXPECT_EQ(data[Split::train].read(3), Tokens(expected.begin(), expected.end()));
  EXPECT_EQ(data[Split::train].read(3, 5), Tokens(expected.begin(), expected.begin() + 5));
  EXPECT_EQ(data[Split::validation].read(0).size(), 7u);
  expect_contains(error_of([&] { data[Split::test].read(1); }), "there is no 1");
}

TEST(Prepared, ManifestTellsWhatHappened) {
  const Scratch scratch;
  make(scratch / "set");
  const Manifest manifest = read_manifest(scratch / "set");
  EXPECT_EQ(manifest.kind, "jsb");
  EXPECT_EQ(manifest.vocabulary, 90);
  EXPECT_EQ(manifest[Split::train].sequences, 4);
  EXPECT_EQ(manifest[Split::train].values, 400);
  ASSERT_EQ(manifest[Split::train].items.size(), 2u);
  EXPECT_EQ(manifest[Split::train].items[1].id, "b");
  EXPECT_EQ(manifest[Split::train].items[1].sequences, 2);
  ASSERT_EQ(manifest.skipped.size(), 2u);
  EXPECT_EQ(manifest.skipped[0].offset, 12);
  EXPECT_EQ(manifest.skipped[1].offset, std::nullopt);
  EXPECT_EQ(manifest.sources[0].sha256, sha256("text"));
  EXPECT_EQ(manifest[Split::test].files[0].sha256, sha256(text_of(scratch / "set" / "test.npy")));
  EXPECT_EQ(to_json(manifest), text_of(scratch / "set" / "manifest.json"));
}

TEST(Prepared, NothingIsLeftOfOneThatFails) {
  const Scratch scratch;
  const auto cut_short = [&] {
    Preparation preparation(find_kind("jsb"), {.source = "", .out = scratch / "set", .seed = 0});
    preparation.set_vocabulary(90);
    preparation.add(Split::train, "a", counting(3, 10));
    preparation.finish();
  };
  expect_contains(error_of(cut_short), "nothing is left for validation");
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(Prepared, OneThatWasKilledIsBegunAnew) {
  const Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    Preparation preparation(find_kind("jsb"), {.source = "", .out = scratch / "set", .seed = 0});
    preparation.set_vocabulary(90);
    for (int i = 0; i < 30'000; ++i)
      preparation.add(Split::train, "old", counting(3, 100));  // beyond any buffer
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(fs::exists(scratch / "set.preparing"));
  EXPECT_FALSE(fs::exists(scratch / "set"));
  make(scratch / "set");
  EXPECT_FALSE(fs::exists(scratch / "set.preparing"));
  EXPECT_EQ(PreparedData(scratch / "set")[Split::train].size(), 4);
}

// Killed before the folder has its name, and just before it has its last one.
TEST(Prepared, WhatAKilledOneLeavesIsNeverInTheWay) {
  const Scratch scratch;
  fs::create_directory(scratch / ".part-set.preparing-0123456789abcdef");
  {
    Preparation killed(find_kind("jsb"), {.source = "", .out = scratch / "other", .seed = 0});
    fs::copy(scratch / "other.preparing", scratch / "set.preparing");
  }
  std::ofstream(scratch / "set.preparing" / "manifest.json") << "{}";
  make(scratch / "set");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "set"), fs::directory_iterator()), 7);
}

TEST(Prepared, TwoAtOnceDoNotMeet) {
  const Scratch scratch;
  const PrepareRequest request{.source = "", .out = scratch / "set", .seed = 0};
  Preparation first(find_kind("jsb"), request);
  first.set_vocabulary(90);
  expect_contains(error_of([&] { Preparation second(find_kind("jsb"), request); }),
                  "another process is preparing");
  EXPECT_TRUE(fs::exists(scratch / "set.preparing" / "train.npy"));
}

TEST(Prepared, LeavesAloneWhatIsThere) {
  const Scratch scratch;
  make(scratch / "set");
  const std::string before = text_of(scratch / "set" / "manifest.json");
  expect_contains(error_of([&] { make(scratch / "set"); }), "is there already");
  EXPECT_EQ(text_of(scratch / "set" / "manifest.json"), before);
  fs::create_directory(scratch / "other.preparing");
  std::ofstream(scratch / "other.preparing" / "mine") << "mine";
  expect_contains(error_of([&] { make(scratch / "other"); }), "is in the way");
  EXPECT_EQ(text_of(scratch / "other.preparing" / "mine"), "mine");
  fs::create_directory(scratch / "empty");
  EXPECT_EQ(make(scratch / "empty")[Split::train].sequences, 4);
}

TEST(Prepared, RefusesSequencesThatMeanNothing) {
  const Scratch scratch;
  Preparation preparation(find_kind("jsb"), {.source = "", .out = scratch / "set", .seed = 0});
  preparation.set_vocabulary(90);
  expect_contains(error_of([&] { preparation.add(Split::train, "a", counting(3, 1)); }),
                  "nothing to predict");
  const std::vector<uint16_t> beyond = {1, 90};
  expect_contains(error_of([&] { preparation.add(Split::train, "a", beyond); }), "outside the 90");
}

// Each line breaks one thing; the message should name it.
TEST(Prepared, RefusesAManifestThatLies) {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"\"format\": 1", "\"format\": 2", "is not what was written"},
      {"\"format\": 1", "\"format\": 3", "format 3"},
      {"\"kind\": \"jsb\"", "\"kind\": \"jsbb\"", "did you mean 'jsb'"},
      {"\"kind\": \"jsb\"", "\"kind\": 7", "kind should be a string"},
      {"\"vocabulary\": 90", "\"vocabulary\": 91", "vocabulary of 91; what it stores has 90"},
      {"\"vocabulary\": 90", "\"vocabulary\": 4294967297", "at most 4294967296"},
      {"\"vocabulary\": 90", "\"tokenizer\": \"byte\", \"vocabulary\": 90", "did you mean 'bytes'"},
      {"\"vocabulary\": 90", "\"tokenizer\": \"bytes\", \"vocabulary\": 90", "its tokenizer has 257"},
      {"\"stored_values\": 90", "\"stored_values\": -1", "stored_values should be an integer"},
      {"\"values\": 400", "\"values\": 401", "401"},
      {"\"b\",\n     2", "\"b\",\n     3", "items should be a list whose counts make 4"},
      {"\"sequences\": 4,", "\"sequences\": 5,", "items should be a list whose counts make 5"},
      {"\"name\": \"train.npy\"", "\"name\": \"../train.npy\"", "../train.npy"},
      {"\"name\": \"train.npy\"", "\"name\": \"a\\nb\"", "a file 'a?b'"},
      {"\"name\": \"train.npy\"", "\"name\": \"train.starts.npy\"", "bytes"},
      {"\"skipped\": [", "\"skiped\": [", "has no skipped"},
      {"{\n", "{\n\"kind\": \"jsb\",\n", "twice"},
  };
  for (const auto& c : cases) {
    const Scratch scratch;
    make(scratch / "set");
    unseal(scratch / "set" / "manifest.json");
    replace_in(scratch / "set" / "manifest.json", c.from, c.to);
    expect_contains(open_error(scratch / "set"), c.message);
  }
}

TEST(Prepared, RefusesFilesThatDiffer) {
  const Scratch scratch;
  make(scratch / "set");
  const fs::path file = scratch / "set" / "train.npy", starts = scratch / "set" / "train.starts.npy";
  const std::string whole = text_of(file), places = text_of(starts);
  write_file(file, whole.substr(0, whole.size() - 1));
  expect_contains(open_error(scratch / "set"), "its manifest says");
  write_file(file, whole);
  std::string bad = places;
  bad[bad.size() - 15] = 0;  // the last sequence begins at 44, not 300
  write_file(starts, bad);
  expect_contains(open_error(scratch / "set"), "leave each sequence two values");
  write_file(starts, places);
  EXPECT_EQ(open_error(scratch / "set"), "");
  fs::remove(scratch / "set" / "manifest.json");
  expect_contains(open_error(scratch / "set"), "no manifest.json");
}

// A value takes one, two or four bytes, as few as the vocabulary needs.
TEST(Prepared, TokensGoUpTo2To32) {
  for (const int64_t vocabulary :
       {int64_t{256}, int64_t{257}, int64_t{1} << 16, int64_t{65537}, int64_t{1} << 32}) {
    const Scratch scratch;
    const Tokens ids = {0, vocabulary - 1, vocabulary / 2};
    {
      Preparation preparation(find_kind("jsb"), {.source = "", .out = scratch / "set", .seed = 0});
      preparation.set_vocabulary(vocabulary);
      for (const Split split : {Split::train, Split::validation, Split::test})
        preparation.add(split, "a", ids);
      preparation.finish();
    }
    const PreparedData data(scratch / "set");
    EXPECT_EQ(data.manifest.vocabulary, vocabulary);
    EXPECT_EQ(data.present(Split::test, 0, nullptr), ids);
    const size_t width = vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4;
    EXPECT_EQ(fs::file_size(scratch / "set" / "test.npy"), 128 + 3 * width);
  }
}

// What a kind makes of stored values may lie outside what a manifest that was edited promises.
TEST(Prepared, RefusesAPresentationOutsideTheVocabulary) {
  const Scratch scratch;
  {
    Preparation preparation(find_kind("fasta"), {.source = "", .out = scratch / "set", .seed = 0});
    preparation.set_vocabulary(100);
    for (const Split split : {Split::train, Split::validation, Split::test})
      preparation.add(split, "a", std::string("ACGTACGT"));
    preparation.finish();
  }
  const PreparedData data(scratch / "set");
  expect_contains(error_of([&] { data.present(Split::test, 0, nullptr); }), "vocabulary of 100");
}

TEST(Prepared, RefusesAValueOutsideTheVocabulary) {
  const Scratch scratch;
  make(scratch / "set");
  std::string bytes = text_of(scratch / "set" / "test.npy");
  bytes.back() = 90;
  write_file(scratch / "set" / "test.npy", bytes);
  const PreparedData data(scratch / "set");
  expect_contains(error_of([&] { data[Split::test].read(0); }), "outside its vocabulary of 90");
}

TEST(Prepared, SplitsAreSharesOfAnOrderThatTheSeedDraws) {
  const auto counts = [](const std::vector<Split>& splits) {
    return std::array{std::count(splits.begin(), splits.end(), Split::train),
                      std::count(splits.begin(), splits.end(), Split::validation),
                      std::count(splits.begin(), splits.end(), Split::test)};
  };
  EXPECT_EQ(counts(draw_splits(1276, 0)), (std::array<ptrdiff_t, 3>{1148, 64, 64}));
  EXPECT_EQ(counts(draw_splits(40, 0)), (std::array<ptrdiff_t, 3>{36, 2, 2}));
  EXPECT_EQ(counts(draw_splits(39, 0)), (std::array<ptrdiff_t, 3>{33, 3, 3}));
  EXPECT_EQ(counts(draw_splits(13, 0)), (std::array<ptrdiff_t, 3>{7, 3, 3}));
  EXPECT_EQ(counts(draw_splits(8, 5)), (std::array<ptrdiff_t, 3>{4, 2, 2}));
  constexpr bool kSeveral = true;  // witnesses are there already where the test has one item
  EXPECT_EQ(counts(draw_splits(3, 5, kSeveral)), (std::array<ptrdiff_t, 3>{1, 1, 1}));
  EXPECT_EQ(draw_splits(100, 7), draw_splits(100, 7));
  EXPECT_NE(draw_splits(100, 7), draw_splits(100, 8));
  std::array<int64_t, 20> tested{};
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const std::vector<Split> splits = draw_splits(20, seed, kSeveral);
    for (size_t i = 0; i < 20; ++i) tested[i] += splits[i] == Split::test;
  }
  for (const int64_t times : tested)
    EXPECT_NEAR(double(times), 200, 70);  // five deviations of a binomial with p = 1/20
  expect_contains(error_of([] { draw_splits(7, 0); }), "at least 8");
  expect_contains(error_of([] { draw_splits(2, 0, kSeveral); }), "at least 3");
}

TEST(Audit, CountsRepeatsAndOverlap) {
  const Scratch scratch;
  {
    Preparation preparation(find_kind("jsb"), {.source = "", .out = scratch / "set", .seed = 0});
    preparation.set_vocabulary(90);
    preparation.add(Split::train, "a", counting(0, 300));
    preparation.add(Split::train, "b", counting(0, 300));
    preparation.add(Split::validation, "c", counting(0, 300));
    std::vector<uint16_t> half = counting(5, 128);  // a run from inside train, then one that is nowhere in it
    std::reverse(half.begin() + 64, half.end());
    preparation.add(Split::test, "a", half);
    preparation.finish();
  }
  const Audit found = audit(scratch / "set");
  const auto& [train, validation, test] = found.splits;
  EXPECT_EQ(train.repeats, 1);
  EXPECT_EQ(train.distinct_values, 90);
  EXPECT_EQ(validation.sequences_in_train, 1);
  EXPECT_EQ(validation.runs, 4);
  EXPECT_EQ(validation.runs_in_train, 4);
  EXPECT_EQ(test.sequences_in_train, 0);
  EXPECT_EQ(test.runs, 2);
  EXPECT_EQ(test.runs_in_train, 1);
  EXPECT_EQ(found.items_twice, std::vector<std::string>{"a"});
  EXPECT_TRUE(found.damaged.empty());
}

TEST(Audit, FindsAByteThatChanged) {
  const Scratch scratch;
  make(scratch / "set");
  std::string bytes = text_of(scratch / "set" / "test.npy");
  bytes.back() = char(bytes.back() ^ 1);
  write_file(scratch / "set" / "test.npy", bytes);
  EXPECT_EQ(audit(scratch / "set").damaged, std::vector<std::string>{"test.npy"});
}

}  // namespace
}  // namespace darope
