#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/open.h"
#include "data/prepared/preparation.h"
#include "scratch.h"

namespace darope {
namespace {

std::vector<int64_t> clusters_of(const TestSet& set) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < set.size(); ++i) out.push_back(set.cluster(i));
  return out;
}

// How many sequences each item of a split has; `length` values in each, which no kind minds.
Dataset prepared(const std::filesystem::path& out, const char* kind, const std::vector<int64_t>& items,
                 size_t length, int64_t seq_len) {
  Preparation preparation(find_kind(kind), {.source = "", .out = out});
  preparation.set_vocabulary(5000);
  for (const Split split : {Split::train, Split::validation, Split::test})
    for (size_t i = 0; i < items.size(); ++i)
      for (int64_t sequence = 0; sequence < items[i]; ++sequence)
        preparation.add(split, fmt::format("{}{}", name_of(split), i), std::vector<uint16_t>(length, 'A'));
  preparation.finish();
  DataConfig config;
  config.root_dir = out.string();
  config.seq_len = seq_len;
  return open_dataset(config, 1, 10);
}

TEST(Clusters, StretchesOfAPerformanceAreOneWitness) {
  const Scratch scratch;
  const Dataset data = prepared(scratch / "set", "midi", {3, 1, 2}, 20, 16);
  EXPECT_EQ(clusters_of(*data.tests[0].set), (std::vector<int64_t>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(clusters_of(*data.validation), (std::vector<int64_t>{0, 0, 0, 1, 2, 2}));
}

TEST(Clusters, AChoraleIsItsOwn) {
  const Scratch scratch;
  const Dataset data = prepared(scratch / "set", "jsb", {1, 1, 1}, 20, 16);
  EXPECT_EQ(clusters_of(*data.tests[0].set), (std::vector<int64_t>{0, 1, 2}));
}

// 40 samples hold three windows of 12.
TEST(Clusters, WindowsOfARecordingAreOneWitness) {
  const Scratch scratch;
  const Dataset data = prepared(scratch / "set", "bonn", {1, 1}, 40, 12);
  EXPECT_EQ(clusters_of(*data.tests[0].set), (std::vector<int64_t>{0, 0, 0, 1, 1, 1}));
}

// A window begins every 6050 bases, so the megabases of a record begin with its windows 0, 166, 331, 496.
TEST(Clusters, AMegabaseOfARecordIsOneWitness) {
  const Scratch scratch;
  const Dataset data = prepared(scratch / "set", "fasta", {400, 1, 166}, 6100, 1000);
  const std::vector<int64_t> found = clusters_of(*data.tests[0].set);
  ASSERT_EQ(found.size(), 567u);
  for (const auto& [first, cluster] :
       {std::pair{0, 0}, {165, 0}, {166, 1}, {330, 1}, {331, 2}, {399, 2}, {400, 3}, {401, 4}, {566, 4}})
    EXPECT_EQ(found[size_t(first)], cluster) << first;
}

Dataset file(const std::filesystem::path& path, int64_t test_examples) {
  DataConfig config;
  config.path = path.string();
  config.seq_len = 10;
  config.test_share = 0.5;
  config.test_examples = test_examples;
  return open_dataset(config, 1, 10);
}

// Documents of 24 bytes and an end make 25 tokens; the last half of 40 of them begins with the 21st.
TEST(Clusters, WindowsThatBeginInOneDocumentAreOneWitness) {
  const Scratch scratch;
  {
    std::ofstream out(scratch / "a.jsonl");
    for (int i = 0; i < 40; ++i) out << fmt::format("{{\"text\": \"{}\"}}\n", std::string(24, 'a'));
  }
  const Dataset data = file(scratch / "a.jsonl", 100);
  ASSERT_EQ(data.tests.back().multiple, 8);
  ASSERT_EQ(data.tests[0].set->size(), 42);  // from 70 of the second half on, which 8x reads before them
  std::vector<int64_t> first = clusters_of(*data.tests[0].set);
  first.resize(10);
  EXPECT_EQ(first, (std::vector<int64_t>{0, 1, 1, 2, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(clusters_of(*data.tests[0].set), clusters_of(*data.tests.back().set));
}

TEST(Clusters, NeighboursInOneTextAreOneWitness) {
  const Scratch scratch;
  std::ofstream(scratch / "a.txt") << std::string(2001, 'a');
  const Dataset some = file(scratch / "a.txt", 64), few = file(scratch / "a.txt", 9);
  for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(some.tests[0].set->cluster(i), i / 2) << i;
  EXPECT_EQ(clusters_of(*few.tests[0].set), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Clusters, ExamplesOfATaskAreTheirOwn) {
  DataConfig config;
  config.task = "parity";
  config.test_examples = 5;
  EXPECT_EQ(clusters_of(*open_dataset(config, 1, 10).tests[0].set), (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace darope
