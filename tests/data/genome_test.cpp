#include <fmt/format.h>
#include <gtest/gtest.h>
#include <htslib/bgzf.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/files.h"
#include "base/random.h"
#include "data/bad_input.h"
#include "data/genome/fasta.h"
#include "data/genome/sixmers.h"
#include "scratch.h"

namespace darope {
namespace {

// A file as "name@place:bases|...".
std::string read(std::string_view text, const FastaLimits& limits = {}) {
  const Scratch scratch;
  write_file(scratch / "a.fa", text);
  std::string out;
  read_fasta(
      scratch / "a.fa", limits,
      {.record = [&](std::string_view name,
                     int64_t place) { out += fmt::format("{}{}@{}:", out.empty() ? "" : "|", name, place); },
       .bases = [&](std::string_view bases) { out += bases; }});
  return out;
}

// What a refusal says, and where.
std::string refusal(std::string_view text, const FastaLimits& limits = {}) {
  try {
    return read(text, limits);
  } catch (const BadInput& e) {
    return std::to_string(e.offset()) + " " + e.what();
  }
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string random_bases(int64_t count, uint64_t seed, std::string_view letters = "ACGT") {
  Random random(seed, "test");
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += letters[random.below(letters.size())];
  return out;
}

std::vector<int64_t> tokens(std::string_view bases, size_t most = 100) {
  std::vector<int64_t> out(most);
  out.resize(tokenize_bases(bases, out));
  return out;
}

TEST(Fasta, RecordsLinesAndLetters) {
  EXPECT_EQ(read(">a one\nACGT\nAC\n\n>b\nTTT"), "a one@0:ACGTAC|b@16:TTT");
  EXPECT_EQ(read(">a\r\nAC\r\nGT\r\n>b \r\n\r\nN\r\n"), "a@0:ACGT|b@12:N");
}

TEST(Fasta, SoftMaskedAndAmbiguousBases) {
  EXPECT_EQ(read(">a\nacgtn"), "a@0:ACGTN");
  EXPECT_EQ(read(">a\nRYSWKMBDHVUryswkmbdhvu"), "a@0:" + std::string(22, 'N'));
}

TEST(Fasta, EmptyRecordsAreTold) { EXPECT_EQ(read(">a\n>b\nA\n>c"), "a@0:|b@3:A|c@8:"); }

TEST(Fasta, RefusesWithAPlace) {
  EXPECT_EQ(refusal(""), "0 no record; a FASTA file begins with '>' and a name");
  EXPECT_EQ(refusal("ACGT\n"), "0 bases before the first '>'; a FASTA file begins with '>' and a name");
  EXPECT_EQ(refusal(">a\nAC\nAC-T").substr(0, 18), "8 '-' is no base; ");
  EXPECT_EQ(refusal(">a\nACGT>b\n").substr(0, 18), "7 '>' is no base; ");
  EXPECT_EQ(refusal(">p\nMEEPQ").substr(0, 5), "4 'E'");  // a protein
  EXPECT_EQ(refusal(">a\nA\n>" + std::string(100, 'x') + "\nA", {.header_bytes = 50}),
            "5 a header longer than 50 bytes");
}

TEST(Fasta, UnpacksGzipAndBgzip) {
  const std::string bases = random_bases(300'000, 1), text = ">a\n" + bases + "\n";
  EXPECT_EQ(read(gzip(text)), "a@0:" + bases);
  EXPECT_EQ(read(gzip(">a\nAC") + gzip("GT\n>b\nT")), "a@0:ACGT|b@8:T");
  const Scratch scratch;
  BGZF* file = bgzf_open((scratch / "a.fa.gz").c_str(), "w");
  ASSERT_EQ(bgzf_write(file, text.data(), text.size()), ssize_t(text.size()));
  ASSERT_EQ(bgzf_close(file), 0);
  EXPECT_EQ(read(read_file(scratch / "a.fa.gz")), "a@0:" + bases);
}

TEST(Fasta, DamagedPackingIsNotTakenForAnEnd) {
  const std::string packed = gzip(">a\n" + random_bases(300'000, 2));
  for (const size_t left : {packed.size() - 1, packed.size() - 9, packed.size() / 2})
    expect_contains(refusal(packed.substr(0, left)), "cut short or damaged");
  std::string changed = packed;
  changed[changed.size() - 6] ^= 1;  // the checksum
  expect_contains(refusal(changed), "cut short or damaged");
  expect_contains(refusal(packed + "and more of something else"), "cut short or damaged");
}

TEST(Fasta, RefusesABombAndReadsACentromere) {
  const FastaLimits limits{.ratio_from = 1 << 20};
  const std::string bomb = gzip(">a\n" + std::string(4 << 20, 'N'));
  EXPECT_EQ(refusal(bomb, limits),
            "1114112 it unpacks to more than 200 times its size, which a genome does not");
  const std::string genome = gzip(">a\n" + std::string(4 << 20, 'N') + random_bases(1 << 20, 3));
  EXPECT_EQ(read(genome, limits).size(), 4u + (5 << 20));
}

TEST(Sixmers, TheIdsOfTheVocabulary) {
  EXPECT_EQ(tokens("AAAAAA"), (std::vector<int64_t>{6}));
  EXPECT_EQ(tokens("AAAAAT"), (std::vector<int64_t>{7}));
  EXPECT_EQ(tokens("TAAAAA"), (std::vector<int64_t>{6 + 1024}));
  EXPECT_EQ(tokens("GGGGGG"), (std::vector<int64_t>{4101}));
  EXPECT_EQ(tokens("ATCG"), (std::vector<int64_t>{4102, 4103, 4104, 4105}));
  EXPECT_EQ(tokens("NN"), (std::vector<int64_t>{4106, 4106}));
}

TEST(Sixmers, RunsBeginAnewAfterN) {
  EXPECT_EQ(tokens("AAAAAACNTTTTTTNG"), (std::vector<int64_t>{6, 4104, 4106, 6 + 0x555, 4106, 4105}));
  EXPECT_EQ(tokens("AAAAAAAAAAAANNNN", 3), (std::vector<int64_t>{6, 6, 4106}));
  EXPECT_EQ(tokens("CCCNAA", 2), (std::vector<int64_t>{4104, 4104}));
}

TEST(Sixmers, EveryWordKeepsItsBases) {
  std::vector<int64_t> all;
  for (int64_t id = kFirstSixmer; id < kGenomeVocabulary; ++id) all.push_back(id);
  for (const int64_t id : all) EXPECT_EQ(tokens(text_of_sixmers({&id, 1})), (std::vector<int64_t>{id}));
}

TEST(Sixmers, AWindowGivesAThousandTokensWhateverItHolds) {
  for (const double share : {0.0, 0.001, 0.05, 1.0})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::string bases = random_bases(6001, seed);
      Random random(seed, "n");
      for (char& c : bases)
        if (random.uniform() < share) c = 'N';
      const std::vector<int64_t> ids = tokens(bases, 1000);
      ASSERT_EQ(ids.size(), 1000u);
      const std::string text = text_of_sixmers(ids);
      EXPECT_EQ(text, bases.substr(0, text.size()));
    }
}

TEST(Fasta, APipeIsRefusedAndNotWaitedFor) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo((scratch / "a.fa").c_str(), 0600), 0);
  expect_contains(error_of([&] { read_fasta(scratch / "a.fa", {}, {}); }), "is a pipe");
}

}  // namespace
}  // namespace darope
