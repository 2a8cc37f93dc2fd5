// Datasets whose rosters give an encoding other options, as the paper's do.
#include <algorithm>
#include <cmath>

#include "planted.h"
#include "report/report.h"
#include "report/results.h"

namespace darope::report {
namespace {

using Names = std::vector<std::string>;

// Losses that rise along the roster: its first encoding has rank 1.
void rank(const Comparison& to, const std::string& dataset, const Names& roster) {
  const auto loss = [&](const std::string& encoding, int64_t, double, int64_t i) {
    const auto place = std::find(roster.begin(), roster.end(), encoding) - roster.begin();
    return 0.5 + 0.05 * double(place) + 0.01 * double(i % 5) + 0.001 * double((i + place) % 3);
  };
  for (const std::string& encoding : roster)
    for (int64_t seed = 0; seed < 2; ++seed)
      to.add(dataset, encoding, seed, "nll", {1}, loss, Json::object(), 20);
}

// Three folders as `darope report A B C` takes them.
struct Paper {
  Comparison jsb, maestro, sleep;
  Paper() {
    rank(jsb, "jsb", {"darope", "pope:delta_init=uniform", "rope-10k", "hope", "nope"});
    rank(maestro, "maestro", {"pope:delta_init=uniform", "darope:slow_bands=16", "rope-10k", "hope", "nope"});
    rank(sleep, "sleep-edf", {"darope", "rope-10k", "hope", "pope", "nope"});
  }
  std::vector<std::filesystem::path> paths() const { return {jsb.path(), maestro.path(), sleep.path()}; }
  Summary summary(const Options& options = {}) const { return summarise(gather(paths()), options); }
};

std::string part(const std::string& page, const std::string& title) {
  const size_t at = page.find("<h2>" + title);
  return at == std::string::npos ? "" : page.substr(at, page.find("</section>", at) - at);
}

TEST(Names, OtherOptionsOnOtherDatasetsAreOneEncoding) {
  const Paper paper;
  const Gathered all = gather(paper.paths());
  ASSERT_EQ(all.encodings, (Names{"darope", "hope", "nope", "pope", "rope-10k"}));
  EXPECT_TRUE(all.notes.empty());  // none is missing anywhere
  EXPECT_EQ(all.find("maestro", "darope", 1)->typed, "darope:slow_bands=16");
  EXPECT_EQ(all.find("sleep-edf", "darope", 1)->typed, "darope");
  ASSERT_EQ(all.variants.size(), 2u);
  EXPECT_EQ(all.variants[1].encoding, "pope");
  EXPECT_EQ(all.variants[1].by_dataset,
            (std::map<std::string, std::string>{{"jsb", "pope:delta_init=uniform"},
                                                {"maestro", "pope:delta_init=uniform"},
                                                {"sleep-edf", "pope"}}));
}

TEST(Names, MeanRanksAreOverAllDatasets) {
  const Summary s = Paper().summary();
  ASSERT_EQ(s.encodings.size(), 5u);
  ASSERT_EQ(s.rankings.size(), 1u);
  EXPECT_EQ(s.rankings[0].datasets, (Names{"jsb", "maestro", "sleep-edf"}));
  const auto expect = [&](size_t e, double mean, double error) {
    EXPECT_NEAR(s.rankings[0].ranks[e].mean, mean, 1e-12) << s.encodings[e];
    EXPECT_NEAR(s.rankings[0].ranks[e].standard_error.value(), error, 1e-12) << s.encodings[e];
  };
  expect(0, 4. / 3, 1. / 3);             // darope: 1, 2, 1
  expect(1, 11. / 3, 1. / 3);            // hope: 4, 4, 3
  expect(2, 5, 0);                       // nope
  expect(3, 7. / 3, std::sqrt(7.) / 3);  // pope: 2, 1, 4
  expect(4, 8. / 3, 1. / 3);             // rope-10k: 3, 3, 2
  ASSERT_EQ(s.overall.size(), 1u);
  EXPECT_EQ(s.overall[0].datasets.size(), 3u);
  EXPECT_EQ(s.overall[0].suite->these_tasks.encodings.size(), 5u);
  EXPECT_EQ(s.overall[0].leader(), "darope");
}

TEST(Names, OptionsThatAreTheSameEverywhereAreShown) {
  const Comparison c;
  for (const char* dataset : {"jsb", "maestro"})
    rank(c, dataset, {"darope:slow_bands=16", "pope:delta_init=uniform", "rope-10k"});
  rank(c, "sleep-edf", {"darope", "rope-10k"});
  const Gathered all = gather({c.path()});
  EXPECT_EQ(all.encodings, (Names{"darope", "pope:delta_init=uniform", "rope-10k"}));
  ASSERT_EQ(all.variants.size(), 1u);
  EXPECT_EQ(all.variants[0].encoding, "darope");
  const Comparison one;
  rank(one, "jsb", {"darope:slow_bands=16", "pope:delta_init=uniform"});
  EXPECT_EQ(gather({one.path()}).encodings, (Names{"darope:slow_bands=16", "pope:delta_init=uniform"}));
  EXPECT_TRUE(gather({one.path()}).variants.empty());
}

TEST(Names, SeveralOfOneNameOnADatasetKeepTheirOptions) {
  const Comparison c;
  rank(c, "jsb", {"rope:base=10000", "rope:base=500000", "darope"});
  rank(c, "maestro", {"rope:base=500000", "darope:slow_bands=16"});  // its only rope is one of the two
  const Gathered all = gather({c.path()});
  ASSERT_EQ(all.encodings, (Names{"darope", "rope:base=10000", "rope:base=500000"}));
  EXPECT_TRUE(all.find("maestro", "rope:base=500000", 0));
  EXPECT_EQ(all.find("maestro", "darope", 0)->typed, "darope:slow_bands=16");
  EXPECT_EQ(all.notes, Names{"rope:base=10000 was not run on maestro."});
}

TEST(Names, AMissingEncodingLeavesItsDatasetOutOfRanks) {
  Paper paper;
  for (int64_t seed = 0; seed < 2; ++seed) remove_tree(paper.sleep.folder("sleep-edf", "hope", seed));
  const Summary s = paper.summary();
  ASSERT_EQ(s.encodings.size(), 5u);
  EXPECT_EQ(s.notes, Names{"hope was not run on sleep-edf."});
  EXPECT_EQ(s.rankings.at(0).datasets, (Names{"jsb", "maestro"}));
  EXPECT_DOUBLE_EQ(s.rankings[0].ranks[3].mean, 1.5);  // pope: 2, 1
  EXPECT_DOUBLE_EQ(s.rankings[0].ranks[3].standard_error.value(), 0.5);
  EXPECT_EQ(s.datasets.at(2).at(1)->paper.size(), 3u);  // sleep-edf has its own numbers all the same
}

TEST(Names, ReferenceAndThePapersFamilyAreFound) {
  const Paper paper;
  EXPECT_EQ(paper.summary().reference, "darope");
  EXPECT_EQ(paper.summary({.reference = "pope"}).datasets.at(0).at(1)->paper.size(), 4u);
  EXPECT_EQ(paper.summary({.reference = "darope:slow_bands=16"}).reference, "darope");
  const Summary four = paper.summary({.reference = "", .paper_family = true});
  for (const Dataset& dataset : four.datasets) EXPECT_EQ(dataset.at(1)->paper.size(), 4u) << dataset.name;
  const Comparison one;
  rank(one, "jsb", {"pope:delta_init=uniform", "rope:base=10000", "rope:base=500000"});
  const Gathered all = gather({one.path()});
  EXPECT_EQ(summarise(all, {.reference = "pope"}).reference, "pope:delta_init=uniform");
  expect_contains(error_of([&] { summarise(all, {.reference = "rope"}); }), "rope:base=10000");
}

TEST(Names, TheReportSaysWhichOptionsWereUsedWhere) {
  const Paper paper;
  const Scratch out;
  const Summary s = write_report(out.path(), paper.paths());
  const std::string words =
      "pope was run without options on sleep-edf, with delta_init=uniform on jsb and maestro.";
  const std::string page = read_file(out / "report.html"), run = part(page, "What was run");
  expect_contains(run, words);
  expect_contains(run, "darope was run without options on jsb and sleep-edf, with slow_bands=16 on maestro.");
  expect_contains(run, "<td>darope:slow_bands=16</td>");
  expect_contains(terminal_table(s), words);
  const Json results = parse_json(read_file(out / "results.json"), "results.json");
  const Json by_dataset{{"jsb", "darope"}, {"maestro", "darope:slow_bands=16"}, {"sleep-edf", "darope"}};
  ASSERT_EQ(results["variants"].size(), 2u);
  EXPECT_EQ(results["variants"][0], (Json{{"encoding", "darope"}, {"by_dataset", by_dataset}}));
  const auto of_maestro = std::find_if(results["runs"].begin(), results["runs"].end(), [](const Json& each) {
    return each["dataset"] == "maestro" && each["encoding"] == "darope";
  });
  ASSERT_NE(of_maestro, results["runs"].end());
  EXPECT_EQ((*of_maestro)["typed"], "darope:slow_bands=16");
  write_report(out.path(), {paper.jsb.path()});
  const std::string alone = read_file(out / "report.html");
  EXPECT_EQ(alone.find("Options that differ"), std::string::npos);
  expect_contains(part(alone, "Ranking"), "pope:delta_init=uniform");
}

// Figure seqmodel and its text, whatever options ours had.
TEST(Names, ThePapersNumbersStandBesideEveryVariant) {
  const Comparison c;
  rank(c, "genome", {"pope:delta_init=uniform", "darope", "hope", "nope"});
  rank(c, "maestro", {"pope", "darope:slow_bands=16", "hope", "nope"});
  const Scratch out;
  write_report(out.path(), {c.path()});
  const std::string page = read_file(out / "report.html"), beside = part(page, "Beside the paper");
  const auto row = [&](const std::string& dataset, const std::string& encoding) {
    const size_t at = beside.find("<th scope='row'>" + dataset + "</th><td>" + encoding + "</td>");
    return at == std::string::npos ? "" : beside.substr(at, beside.find("</tr>", at) - at);
  };
  expect_contains(row("genome", "pope"), "4.3127");
  expect_contains(row("genome", "nope"), "4.3494");
  expect_contains(row("maestro", "darope"), "1.4180");
  expect_contains(beside, "tuned hyperparameters with RoPE-10k");
  expect_contains(part(page, "Test loss"), "not re-tuned for any");
  expect_contains(part(page, "Ranking"), "standard error across them");
  const Comparison one;
  rank(one, "genome", {"pope:delta_init=uniform", "darope"});
  write_report(out.path(), {one.path()});
  expect_contains(part(read_file(out / "report.html"), "Beside the paper"), "4.3127");
}

}  // namespace
}  // namespace darope::report
