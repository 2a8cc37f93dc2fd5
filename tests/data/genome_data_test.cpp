#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/random.h"
#include "data/genome/sixmers.h"
#include "data/prepared/preparation.h"
#include "data/prepared/prepared_data.h"
#include "scratch.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

Manifest prepare(std::string_view kind, const fs::path& source, const fs::path& out, uint64_t seed = 0) {
  const PrepareRequest request{.source = source, .out = out, .seed = seed};
  Preparation preparation(find_kind(kind), request);
  find_kind(kind).prepare(request, preparation);
  return preparation.finish();
}

std::string random_bases(int64_t count, uint64_t seed) {
  Random random(seed, "test");
  std::string out(size_t(count), 'A');
  for (char& base : out) base = "ACGT"[random.bits32() >> 30];
  return out;
}

void write_fasta(const fs::path& file, const std::vector<std::pair<std::string, std::string>>& records,
                 size_t width = 80) {
  std::ofstream out(file);
  for (const auto& [name, bases] : records) {
    out << ">" << name << "\n";
    for (size_t i = 0; i < bases.size(); i += width) out << std::string_view(bases).substr(i, width) << "\n";
  }
}

std::string chromosome(const std::string& accession, const std::string& name) {
  return accession + " Homo sapiens chromosome " + name + ", GRCh38.p14 Primary Assembly";
}

std::string text(const Tokens& stored) { return {stored.begin(), stored.end()}; }

// All of chromosome 22's length: 50,818,468 bases, the first 10.51 million unknown.
TEST(Genome, Chromosome22GivesThePapersWindows) {
  const Scratch scratch;
  fs::create_directory(scratch / "in");
  const std::string bases = std::string(10'510'000, 'N') + random_bases(50'818'468 - 10'510'000, 1);
  const std::string scaffold =
      "NT_187361.1 Homo sapiens chromosome 1 unlocalized genomic scaffold, GRCh38.p14 Primary Assembly";
  write_fasta(scratch / "in" / "a.fna", {{chromosome("NC_000001.11", "1"), random_bases(6200, 2)},
                                         {scaffold, random_bases(9000, 3)},
                                         {chromosome("NC_000021.9", "21"), random_bases(20'000, 4)},
                                         {chromosome("NC_000022.11", "22"), bases}});
  const Manifest manifest = prepare("genome", scratch / "in", scratch / "set");
  EXPECT_EQ(manifest[Split::train].sequences, 1);
  EXPECT_EQ(manifest[Split::validation].sequences,
            3);  // 18,200 bases of 20,000 are published: 0, 6050 and 12,100 fit
  EXPECT_EQ(manifest[Split::test].sequences, 8399);
  EXPECT_EQ(manifest[Split::test].shortest, 6100);
  EXPECT_EQ(manifest.facts["left_out"]["records"], 1);
  EXPECT_TRUE(manifest.skipped.empty());

  const PreparedData data(scratch / "set");
  for (const int64_t i : {0, 1737, 1738, 5000, 8398})
    EXPECT_EQ(text(data[Split::test].read(i)), bases.substr(size_t(6050 * i), 6100)) << i;
  // 10,510,000 / 6050 = 1737.2: window 1737 begins with N and 1738 is the first without.
  EXPECT_EQ(manifest.facts["n_free"]["test"].dump(), "[[1738,8398]]");
}

TEST(Genome, AWindowIsPresentedAsAThousandTokens) {
  const Kind& kind = find_kind("genome");
  const std::string bases = random_bases(6100, 5);
  const Tokens stored(bases.begin(), bases.end());
  EXPECT_EQ(text_of_sixmers(kind.present(stored, nullptr)), bases.substr(0, 6000));
  std::set<size_t> shifts;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, "test", i);
    const Tokens tokens = kind.present(stored, &random);
    ASSERT_EQ(tokens.size(), 1000u);
    shifts.insert(bases.find(text_of_sixmers(tokens)));
  }
  EXPECT_EQ(shifts.size(), 100u);  // all of 0..99, each missed with probability 2e-9
  EXPECT_EQ(*shifts.rbegin(), 99u);
}

TEST(Genome, OwnFilesBySplitOrByRecord) {
  const Scratch scratch;
  fs::create_directory(scratch / "named");
  for (const char* name : {"train.fa", "valid.fa", "test.fa"})
    write_fasta(scratch / "named" / name, {{"chr1 of " + std::string(name), random_bases(20'000, 6)}});
  write_fasta(scratch / "named" / "other.fa", {{"x", random_bases(20'000, 7)}});
  const Manifest named = prepare("fasta", scratch / "named", scratch / "a");
  EXPECT_EQ(named[Split::train].items[0].id, "train.fa:chr1");
  EXPECT_EQ(named[Split::validation].items[0].id, "valid.fa:chr1");
  EXPECT_EQ(named[Split::test].sequences, 3);

  std::vector<std::pair<std::string, std::string>> records;
  for (int i = 0; i < 40; ++i) {
    const int length = i == 7 ? 0 : i == 8 ? 6099 : 6100 + 300 * i;
    records.emplace_back(fmt::format("contig{}", i), random_bases(length, uint64_t(i)));
  }
  write_fasta(scratch / "all.fa", records);
  const Manifest by_record = prepare("fasta", scratch / "all.fa", scratch / "b", 3);
  EXPECT_EQ(by_record[Split::train].items.size(), 32u);
  EXPECT_EQ(by_record[Split::test].items.size(), 3u);
  ASSERT_EQ(by_record.skipped.size(), 2u);
  EXPECT_EQ(by_record.skipped[0].reason, "a header without sequence");
  EXPECT_EQ(by_record.skipped[1].reason, "6099 bases; a window has 6100");
  EXPECT_GT(by_record.skipped[1].offset, by_record.skipped[0].offset);
}

// Records below a megabase are one witness each, as files are; longer ones are several.
TEST(Genome, FewRecordsLeaveATestOfSeveralWitnesses) {
  const Scratch scratch;
  const auto tested = [&](int count, int64_t bases) {
    std::vector<std::pair<std::string, std::string>> records;
    for (int i = 0; i < count; ++i)
      records.emplace_back(fmt::format("r{}", i), random_bases(bases, uint64_t(i)));
    write_fasta(scratch / "few.fa", records);
    const fs::path out = scratch / fmt::format("{} of {}", count, bases);
    prepare("fasta", scratch / "few.fa", out);
    const std::vector<int64_t> clusters = PreparedData(out).clusters(Split::test);
    return std::set<int64_t>(clusters.begin(), clusters.end()).size();
  };
  EXPECT_EQ(tested(26, 7000), 3u);
  EXPECT_EQ(tested(8, 7000), 2u);
  EXPECT_EQ(tested(3, 1'020'000), 2u);
  expect_contains(error_of([&] { tested(7, 7000); }), "7 usable records are too few");
}

TEST(Genome, NamesCountWhereTheyNameEverySplit) {
  const Scratch scratch;
  fs::create_directory(scratch / "in");
  const auto add = [&](const std::string& name, int count) {
    std::vector<std::pair<std::string, std::string>> records;
    for (int i = 0; i < count; ++i) records.emplace_back(fmt::format("r{}", i), random_bases(7000, 9));
    write_fasta(scratch / "in" / name, records);
  };
  add("validated.fa", 10);
  const Manifest one = prepare("fasta", scratch / "in", scratch / "a");
  EXPECT_EQ(one.options["split"], "by record");
  EXPECT_EQ(one[Split::train].sequences, 6);
  add("train.fa", 1);
  expect_contains(error_of([&] { prepare("fasta", scratch / "in", scratch / "b"); }), "none with test");
  add("test.fa", 2);
  const Manifest all = prepare("fasta", scratch / "in", scratch / "b");
  EXPECT_EQ(all.options["split"], "by the names of files");
  EXPECT_EQ(all[Split::test].sequences, 2);
}

TEST(Genome, ADamagedFileLeavesNoTrace) {
  const Scratch scratch;
  fs::create_directory(scratch / "in");
  for (const char* name : {"train-1.fa", "train-2.fa", "valid.fa", "test.fa"})
    write_fasta(scratch / "in" / name, {{"r", random_bases(30'000, 8)}});
  std::ofstream(scratch / "in" / "train-2.fa", std::ios::app) << ">p\nMKV*\n";
  const Manifest manifest = prepare("fasta", scratch / "in", scratch / "set");
  ASSERT_EQ(manifest.skipped.size(), 1u);
  EXPECT_EQ(manifest.skipped[0].name, "train-2.fa");
  EXPECT_EQ(manifest.skipped[0].offset, 3 + 30'000 + 375 + 3 + 3);  // the star
  EXPECT_EQ(manifest[Split::train].sequences, 4);
  EXPECT_EQ(manifest.sources.size(), 3u);
}

}  // namespace
}  // namespace darope
