#include "runs/bundle.h"

#include <map>

#include "planted.h"
#include "runs/lock.h"
#include "runs/tar.h"

namespace darope {
namespace {

using report::Comparison;

std::map<std::string, RunFiles> runs_of(const std::filesystem::path& comparison) {
  std::map<std::string, RunFiles> found;
  each_run(
      comparison, [&](RunFiles run) { found[run.name] = std::move(run); },
      [](const std::filesystem::path&) {}, [](const ComparisonRecord&) {});
  return found;
}

TEST(Bundle, HoldsWhatTheFoldersHold) {
  const Comparison c;
  plant(c, "copy");
  const Scratch out;
  EXPECT_EQ(write_bundle(out / "a.tar.zst", {c.path()}), 8u);
  const auto folders = runs_of(c.path()), bundled = runs_of(out / "a.tar.zst");
  ASSERT_EQ(bundled.size(), 8u);
  for (const auto& [name, run] : bundled) {
    const RunFiles& original = folders.at(name);
    EXPECT_EQ(run.facts, original.facts);
    EXPECT_EQ(run.scores, original.scores);
    EXPECT_EQ(run.config, original.config);
    EXPECT_LT(run.metrics.size(), original.metrics.size() / 4);
    EXPECT_EQ(run.folder, out / "a.tar.zst" / "runs" / name);
  }
}

TEST(Bundle, SameRunsAreTheSameBytesHoweverTheyCame) {
  const Comparison one, other, whole;
  for (const std::string& encoding : report::kEncodings) {
    whole.add("copy", encoding, 0, "token_accuracy", {1}, report::planted);
    (encoding < "i" ? one : other).add("copy", encoding, 0, "token_accuracy", {1}, report::planted);
  }
  const Scratch out;
  write_bundle(out / "whole", {whole.path()});
  write_bundle(out / "again", {out / "whole", one.path()});
  write_bundle(out / "grown", {other.path()});
  write_bundle(out / "grown", {one.path()});  // what is in it stays in it
  EXPECT_EQ(read_file(out / "again"), read_file(out / "whole"));
  EXPECT_EQ(read_file(out / "grown"), read_file(out / "whole"));
}

TEST(Bundle, QuickPackingHoldsTheSame) {
  const Comparison c;
  plant(c, "copy");
  const Scratch out;
  write_bundle(out / "small", {c.path()});
  write_bundle(out / "quick", {c.path()}, Packing::kQuick);
  write_bundle(out / "again", {out / "quick"});
  EXPECT_NE(read_file(out / "quick"), read_file(out / "small"));
  EXPECT_EQ(read_file(out / "again"), read_file(out / "small"));
}

TEST(Bundle, RefusesTwoStoriesOfOneRunAndKeepsWhatWasThere) {
  const Comparison one, other;
  one.add("copy", "hope", 0, "token_accuracy", {1}, report::planted);
  other.add("copy", "hope", 0, "token_accuracy", {1}, report::planted, {{"seconds", 3.5}});
  const Scratch out;
  write_bundle(out / "a", {one.path()});
  const std::string before = read_file(out / "a");
  expect_contains(error_of([&] { write_bundle(out / "a", {other.path()}); }), "are not the same run");
  EXPECT_EQ(read_file(out / "a"), before);
  write_file(out / "notes.txt", "not to be lost");
  expect_contains(error_of([&] { write_bundle(out / "notes.txt", {one.path()}); }),
                  "is damaged or no bundle");
  EXPECT_EQ(read_file(out / "notes.txt"), "not to be lost");
}

TEST(Bundle, LeavesOutWhatIsNotFinished) {
  const Comparison c;
  plant(c, "copy");
  remove_file(c.folder("copy", "nope", 1) / "run.json");
  c.add("copy", "pope", 1, "token_accuracy", {}, report::planted, {{"status", "diverged"}});
  const Scratch out;
  EXPECT_EQ(write_bundle(out / "a", {c.path()}), 7u);
  EXPECT_FALSE(runs_of(out / "a").contains("copy-nope-s1"));
  EXPECT_EQ(runs_of(out / "a").at("copy-pope-s1").scores, "");
}

TEST(Bundle, IsWrittenByOneAtATime) {
  const Comparison c;
  plant(c, "copy");
  const Scratch out;
  {
    const Lock another(lock_beside(out / "a"), "packing a");
    expect_contains(error_of([&] { write_bundle(out / "a", {c.path()}); }), "has been packing a since");
    EXPECT_FALSE(std::filesystem::exists(out / "a"));
  }
  write_bundle(out / "a", {c.path()});
}

TEST(Bundle, LimitsHold) {
  const Comparison c;
  plant(c, "copy");
  const Scratch out;
  write_bundle(out / "a", {c.path()});
  const std::string bytes = read_file(out / "a");
  const auto refusal = [&](const BundleLimits& limits, size_t size) {
    return error_of([&] {
      parse_bundle(std::as_bytes(std::span(bytes).first(size)), "a", limits, [](const RunFiles&) {});
    });
  };
  EXPECT_EQ(refusal({}, bytes.size()), "");
  expect_contains(refusal({.file_bytes = 2000}, bytes.size()), "more than the 2000 it may have");
  expect_contains(refusal({.total_bytes = 50'000}, bytes.size()), "unpacks to more than 50000 bytes");
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 50)
    expect_contains(refusal({}, size), "is cut short");
}

TEST(Tar, HeadersReadBackAndDamageIsNoticed) {
  const TarBlock block = tar_header("runs/" + std::string(150, 'n'), "run.json", 123456);
  const auto entry = read_tar_header(block, "a");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->path, "runs/" + std::string(150, 'n') + "/run.json");
  EXPECT_EQ(entry->bytes, 123456);
  EXPECT_FALSE(read_tar_header({}, "a"));
  for (size_t i = 0; i < block.size(); ++i) {
    if (i == 155) continue;  // the byte behind the checksum's end means nothing
    TarBlock damaged = block;
    damaged[i] = char(damaged[i] + 1);
    EXPECT_NE(error_of([&] { read_tar_header(damaged, "a"); }), "") << i;
  }
  EXPECT_THROW(tar_header("runs/" + std::string(151, 'n'), "run.json", 1), Error);
}

}  // namespace
}  // namespace darope
