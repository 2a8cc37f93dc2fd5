#include <fmt/format.h>

#include "planted.h"
#include "report/power.h"
#include "report/report.h"

// What comparisons may lack: the right statement or a refusal, never a number without meaning.
namespace darope::report {
namespace {

Summary summary_of(const Comparison& c) { return summarise(gather({c.path()}), {}); }

std::string page_of(const Comparison& c) {
  write_report(c.path(), {c.path()});
  return read_file(c.path() / "report.html");
}

TEST(BadInput, SeedsThatSomeEncodingsLackCountForThePairsThatHaveThem) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 3);
  for (int64_t seed = 3; seed < 6; ++seed)
    for (const char* encoding : {"darope", "hope"})
      c.add("copy", encoding, seed, "token_accuracy", {1, 2}, steady);
  const Summary s = summary_of(c);
  const AtLength& at = *s.datasets.at(0).at(1);
  EXPECT_EQ(at.pair("darope", "hope")->seeds, 6u);
  EXPECT_EQ(at.pair("darope", "nope")->seeds, 3u);
  expect_contains(page_of(c), "lack seeds 3, 4, 5");
}

TEST(BadInput, EncodingsWithoutASeedInCommonHaveNoVerdict) {
  const Comparison c;
  for (int64_t seed = 0; seed < 3; ++seed) {
    c.add("copy", "darope", seed, "token_accuracy", {1}, steady);
    c.add("copy", "hope", seed + 3, "token_accuracy", {1}, steady);
  }
  const Summary s = summary_of(c);
  EXPECT_EQ(s.datasets.at(0).at(1)->pair("darope", "hope")->seeds, 0u);
  EXPECT_TRUE(powers(gather({c.path()}), s).empty());
  EXPECT_EQ(page_of(c).find(">nan"), std::string::npos);
}

// Each example its own cluster is the plain case; all of them one cluster tells nothing.
TEST(BadInput, ClustersOfOneExampleAndOneClusterOfAll) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 3);
  EXPECT_EQ(summary_of(c).datasets.at(0).at(1)->clusters, 40u);
  const Comparison one;
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 3; ++seed)
      one.add("copy", encoding, seed, "token_accuracy", {1}, steady, Json::object(), 1);
  const Summary s = summary_of(one);
  EXPECT_FALSE(s.datasets.at(0).at(1)->judged);
  expect_contains(s.notes.back(), "nothing tells how examples vary");
  expect_contains(page_of(one), "nothing tells how examples vary");
}

TEST(BadInput, AScoreThatIsNoNumberIsRefusedWithItsPlace) {
  const Comparison c;
  plant(c, "copy");
  const std::filesystem::path file = c.folder("copy", "hope", 1) / "results.jsonl";
  for (const char* value : {"NaN", "null", "1e999", "\"high\""}) {
    write_file(file,
               fmt::format("{{\"metric\":\"token_accuracy\",\"x\":1,\"example\":0,\"value\":{}}}\n", value));
    expect_contains(error_of([&] { gather({c.path()}); }), "results.jsonl line 1");
  }
}

TEST(BadInput, ConstantScoresAreTiedOrDecidedWithoutNoise) {
  const auto level = [](const std::string& encoding, int64_t, double, int64_t) {
    return encoding == "nope" ? 0.7 : 0.9;
  };
  const Comparison c;
  plant(c, "copy", level, Json::object(), 4);
  const Summary s = summary_of(c);
  const AtLength& at = *s.datasets.at(0).at(1);
  EXPECT_EQ(at.pair("darope", "hope")->verdict, stats::Verdict::tied);
  EXPECT_EQ(at.pair("darope", "hope")->difference, 0);
  EXPECT_EQ(at.pair("darope", "nope")->verdict, stats::Verdict::better);
  const std::string page = page_of(c);
  for (const char* wrong : {">nan", ">inf", "e-17", "e-18", "-0.0<"})
    EXPECT_EQ(page.substr(0, page.find("<script")).find(wrong), std::string::npos) << wrong;
}

TEST(BadInput, OneEncodingAloneHasScoresAndNoVerdict) {
  const Comparison c;
  for (int64_t seed = 0; seed < 3; ++seed) c.add("copy", "hope", seed, "token_accuracy", {1}, steady);
  const std::string page = page_of(c);
  expect_contains(page, "fewer than two encodings can be compared");
  EXPECT_EQ(page.find("<h2>What these runs could see"), std::string::npos);
}

TEST(BadInput, FoldersWithOtherTestSetsAreRefused) {
  const Comparison one, other;
  for (int64_t seed = 0; seed < 2; ++seed) {
    one.add("copy", "darope", seed, "token_accuracy", {1}, steady);
    other.add("copy", "hope", seed, "token_accuracy", {1}, steady, Json::object(), 41);
  }
  expect_contains(error_of([&] { gather({one.path(), other.path()}); }), "were not tested alike");
}

// A failed encoding does not widen what is shown of the others.
TEST(BadInput, OneThatFailedLeavesTheOthersIntervalsAlone) {
  const auto loss = [](const std::string& encoding, int64_t seed, double, int64_t i) {
    const double run = 0.0005 * Random(uint64_t(seed), encoding).normal();
    const double example = 0.001 * Random(uint64_t(i), encoding).normal();
    return 0.5 + run + example + (encoding == "nope" ? 0.7 + 0.2 * Random(uint64_t(i), "n").normal() : 0);
  };
  const Comparison with, without;
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 5; ++seed) {
      with.add("jsb", encoding, seed, "nll", {1}, loss);
      if (encoding != "nope") without.add("jsb", encoding, seed, "nll", {1}, loss);
    }
  const Summary four = summary_of(with), rest = summary_of(without);
  const AtLength &all = *four.datasets.at(0).at(1), &three = *rest.datasets.at(0).at(1);
  EXPECT_LT(*all.cells.at(0).half_width, 2 * *three.cells.at(0).half_width);
  EXPECT_GT(*all.cells.at(2).half_width, 5 * *all.cells.at(0).half_width);  // nope's own
}

}  // namespace
}  // namespace darope::report
