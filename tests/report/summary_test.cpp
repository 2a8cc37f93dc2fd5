#include "report/summary.h"

#include <cmath>

#include "planted.h"

namespace darope::report {
namespace {

using stats::Verdict;

const Cell& cell_of(const AtLength& at, const std::string& encoding) {
  return *std::find_if(at.cells.begin(), at.cells.end(),
                       [&](const Cell& c) { return c.encoding == encoding; });
}

const stats::PaperTest& against(const std::vector<stats::PaperTest>& all, const std::string& encoding) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const stats::PaperTest& c) { return c.second == encoding; });
  if (found == all.end()) throw Error("no test against " + encoding);
  return *found;
}

stats::PairVerdict pair_of(const Overall& overall, const std::string& first, const std::string& second) {
  const stats::Judged& judged = overall.suite->these_tasks;
  const auto place = [&](const std::string& name) {
    return size_t(std::find(judged.encodings.begin(), judged.encodings.end(), name) -
                  judged.encodings.begin());
  };
  return judged.pair(place(first), place(second));
}

// Numbers of numpy and scipy on the same scores.
TEST(Summary, NumbersOfOneDataset) {
  const Comparison c;
  plant(c, "copy");
  const Summary s = summarise(gather({c.path()}), {});
  const AtLength& at = *s.datasets.at(0).at(1);
  const Cell &hope = cell_of(at, "hope"), &pope = cell_of(at, "pope");
  EXPECT_NEAR(*hope.mean, 0.84, 1e-12);
  EXPECT_NEAR(*hope.seed_sd, 0, 1e-12);
  EXPECT_NEAR(*pope.mean, 0.85, 1e-12);
  EXPECT_NEAR(*pope.seed_sd, 0.0565685424949238, 1e-12);
  EXPECT_NEAR(*hope.normalised, 0.74 / 0.9, 1e-12);
  EXPECT_NEAR(*hope.normalised_true, 0.34 / 0.5, 1e-12);
  EXPECT_NEAR(*cell_of(at, "darope").cousineau_morey, 0.00577498, 5e-9);
  EXPECT_NEAR(*cell_of(at, "nope").cousineau_morey, 0.01223459, 5e-9);
  EXPECT_NEAR(*at.loftus_masson, 0.009577333093389085, 1e-12);
  const Beside& exact = s.datasets.at(0).beside.at(0);
  EXPECT_EQ(exact.metric.name, "exact_match");
  const Proportion whole = *exact.places.at(0).cells.at(1).proportion;
  EXPECT_NEAR(whole.share, 0.25, 1e-12);
  EXPECT_NEAR(whole.wilson.low, 0.14187118639096302, 1e-9);
  EXPECT_NEAR(whole.wilson.high, 0.40193961420768026, 1e-9);
  EXPECT_NEAR(*hope.pooled, 0.8412774193548389, 1e-12);  // an example counts as often as it has tokens
  EXPECT_FALSE(hope.proportion);
}

TEST(Summary, PairsAreBetterTiedAndUndecided) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_EQ(s.reference, "darope");
  const AtLength& at = *s.datasets.at(0).at(1);
  EXPECT_EQ(at.clusters, 40u);
  EXPECT_EQ(at.pair("darope", "nope")->verdict, Verdict::better);
  EXPECT_EQ(at.pair("nope", "darope")->verdict, Verdict::worse);
  EXPECT_EQ(at.pair("darope", "hope")->verdict, Verdict::tied);
  EXPECT_EQ(at.pair("darope", "pope")->verdict, Verdict::undecided);
  EXPECT_FALSE(at.pair("darope", "rope"));
  EXPECT_TRUE(std::ranges::count(at.judged->apart, "pope"));
  EXPECT_EQ(at.standings.size(), 4u);
  EXPECT_EQ(at.standings.back().encoding, "nope");
  EXPECT_EQ(at.standings.back().runs.size(), 6u);
}

TEST(Summary, ThePapersTestStaysWhatItWas) {  // scipy's numbers
  const Comparison c;
  plant(c, "copy");
  const Summary s = summarise(gather({c.path()}), {});
  const std::vector<stats::PaperTest>& all = s.datasets.at(0).at(1)->paper;
  ASSERT_EQ(all.size(), 3u);
  const auto &nope = against(all, "nope"), &pope = against(all, "pope");
  EXPECT_NEAR(nope.test.t, 38.213572306626034, 1e-9);
  EXPECT_NEAR(nope.holm_ln_p, std::log(4.8111491604849567e-32), 1e-9);
  EXPECT_NEAR(nope.effect, 5.92502608522459, 1e-9);
  EXPECT_NEAR(nope.interval.low, 0.2379510315188168, 1e-12);
  EXPECT_NEAR(std::exp(pope.holm_ln_p), 0.34096876931216324, 1e-9);
}

// Two datasets with the same scores: their mean difference is that of one, on the scale where the best
// constant answer is 0.
TEST(Summary, OverallVerdictIsOverLearnedDatasetsOfTheSameWeight) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  plant(c, "sort", steady, Json::object(), 6);
  plant(c, "riddle", guessing, Json::object(), 6);
  const Summary s = summarise(gather({c.path()}), {});
  ASSERT_EQ(s.overall.size(), 2u);
  const Overall& in_domain = s.overall[0];
  EXPECT_EQ(in_domain.datasets, (std::vector<std::string>{"copy", "sort"}));
  EXPECT_EQ(in_domain.not_learned, std::vector<std::string>{"riddle"});
  EXPECT_EQ(pair_of(in_domain, "darope", "nope").verdict, Verdict::better);
  EXPECT_EQ(pair_of(in_domain, "darope", "hope").verdict, Verdict::tied);
  EXPECT_NEAR(pair_of(in_domain, "darope", "nope").difference,
              s.datasets.at(0).at(1)->pair("darope", "nope")->difference, 1e-12);
  EXPECT_NEAR(pair_of(in_domain, "darope", "nope").difference, 0.25125 / 0.5, 2e-3);
  EXPECT_EQ(in_domain.suite->without.size(), 2u);
  EXPECT_FALSE(in_domain.one_seed());
}

TEST(Summary, OneSeedSaysNothingAboutEncodings) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 1);
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_TRUE(s.overall.at(0).one_seed());
  EXPECT_FALSE(s.datasets.at(0).at(1)->pair("darope", "nope")->about_encodings());
}

TEST(Summary, ASeedThatSomeLackCountsForThePairsThatHaveIt) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 3);
  for (int64_t seed = 3; seed < 6; ++seed)
    for (const char* encoding : {"darope", "hope"})
      c.add("copy", encoding, seed, "token_accuracy", {1, 2}, steady);
  const Summary s = summarise(gather({c.path()}), {});
  const AtLength& at = *s.datasets.at(0).at(1);
  EXPECT_EQ(at.pair("darope", "hope")->seeds, 6u);
  EXPECT_EQ(at.pair("darope", "nope")->seeds, 3u);
}

// Solved in one seed of three.
TEST(Summary, RunsInTwoGroupsAreNamed) {
  const Comparison c;
  plant(
      c, "recall",
      [](const std::string& e, int64_t s, double x, int64_t i) {
        return steady(e == "pope" ? "hope" : e, s, x, i) - (e == "nope" && s > 0 ? 0.24 : 0);
      },
      Json::object(), 3);
  const std::vector<Split> found = summarise(gather({c.path()}), {}).datasets.at(0).at(1)->splits;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].encoding, "nope");
  EXPECT_EQ(found[0].modes.high, 1u);
}

// Most fall apart here: what is usual says nothing then, and half of what can be learned is a gap all the
// same.
TEST(Summary, RunsInTwoGroupsAreNamedWhereMostFallApart) {
  const Comparison c;
  plant(
      c, "recall",
      [](const std::string& e, int64_t s, double x, int64_t i) {
        const double alike = steady("hope", 0, x, i);
        return e == "hope" || s == 1 ? alike : alike - 0.4;
      },
      Json::object(), 3);
  const std::vector<Split> found = summarise(gather({c.path()}), {}).datasets.at(0).at(1)->splits;
  ASSERT_EQ(found.size(), 3u);
  for (const Split& each : found) EXPECT_TRUE(each.encoding != "hope" && each.ahead == 1);
}

// Surely beyond the best constant at the longer test but by less than matters: a dataset is learned at one
// length and not at another.
TEST(Summary, LearnedIsAskedOfEachLength) {
  const Comparison c;
  plant(c, "copy", [](const std::string& e, int64_t s, double x, int64_t i) {
    return x == 1 ? planted(e, s, x, i) : 0.503 + 0.001 * double(i % 3);
  });
  plant(c, "sort");
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_TRUE(s.datasets.at(0).at(1)->learned);
  EXPECT_FALSE(s.datasets.at(0).at(2)->learned);
  EXPECT_EQ(s.overall.at(0).datasets, (std::vector<std::string>{"copy", "sort"}));
  EXPECT_EQ(s.overall.at(1).datasets, std::vector<std::string>{"sort"});
  EXPECT_EQ(s.overall.at(1).not_learned, std::vector<std::string>{"copy"});
  EXPECT_EQ(s.rankings.at(1).datasets, std::vector<std::string>{"sort"});
}

TEST(Summary, AggregatesRanksAndSpreads) {
  const Comparison c;
  plant(c, "copy");
  plant(c, "recall", planted, {{"family", "retrieval"}});
  const Summary s = summarise(gather({c.path()}), {});
  ASSERT_EQ(s.aggregates.size(), 8u);  // all, without retrieval, two families; at two lengths
  EXPECT_EQ(s.aggregates[0].over, "all");
  EXPECT_EQ(s.aggregates[1].over, "without retrieval");
  EXPECT_EQ(s.aggregates[1].datasets, std::vector<std::string>{"copy"});
  const Aggregate::Row& pope = s.aggregates[0].rows[3];
  EXPECT_NEAR(*pope.normalised, 0.75 / 0.9, 1e-12);
  EXPECT_NEAR(*pope.normalised_true, 0.7, 1e-12);
  const double spread = 0.0565685424949238 / 0.5;  // of each of two tasks, so the mean's is that over sqrt(2)
  EXPECT_NEAR(*pope.normalised_true_sd, spread / std::sqrt(2), 1e-12);
  ASSERT_EQ(s.rankings.size(), 2u);
  EXPECT_DOUBLE_EQ(s.rankings[0].ranks[3].mean, 1);
  EXPECT_DOUBLE_EQ(s.rankings[0].ranks[2].mean, 4);
  EXPECT_DOUBLE_EQ(*s.rankings[0].ranks[2].standard_error, 0);
}

TEST(Summary, LanguageClassesAreAlsoTakenTogether) {
  const Comparison c;
  const std::pair<const char*, const char*> tasks[] = {
      {"even", "regular"}, {"reverse", "context-free"}, {"offset", "positional"}, {"recall", "retrieval"}};
  for (const auto& [name, family] : tasks) plant(c, name, planted, {{"family", family}});
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_EQ(s.aggregates.at(1).over, "without retrieval");
  EXPECT_EQ(s.aggregates.at(2).over, "Chomsky");
  EXPECT_EQ(s.aggregates.at(2).datasets, (std::vector<std::string>{"even", "reverse"}));
}

TEST(Summary, ADivergedEncodingIsShownRankedLastAndNotCompared) {
  const Comparison c;
  plant(c, "copy");
  c.add("copy", "pope", 1, "token_accuracy", {}, planted, {{"status", "diverged"}});
  const Summary s = summarise(gather({c.path()}), {});
  const AtLength& at = *s.datasets.at(0).at(1);
  EXPECT_EQ(cell_of(at, "pope").diverged, std::vector<int64_t>{1});
  EXPECT_NEAR(*cell_of(at, "pope").mean, 0.89, 1e-12);  // of the seed that finished
  EXPECT_EQ(at.judged->encodings.size(), 3u);
  EXPECT_EQ(at.pair("darope", "hope")->seeds, 2u);  // the others keep both
  EXPECT_EQ(s.overall.at(0).diverged, std::vector<std::string>{"pope"});
  EXPECT_FALSE(s.aggregates.at(0).rows[3].normalised);
  EXPECT_DOUBLE_EQ(s.rankings.at(0).ranks[3].mean, 4);
  EXPECT_EQ(s.notes.size(), 1u);
}

TEST(Summary, ADatasetThatDivergedEverywhereIsNoted) {
  const Comparison c;
  plant(c, "copy");
  for (const std::string& encoding : kEncodings)
    c.add("bad", encoding, 0, "token_accuracy", {}, planted, {{"status", "diverged"}});
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_EQ(s.datasets.size(), 2u);
  EXPECT_EQ(s.overall.at(0).datasets, std::vector<std::string>{"copy"});
}

TEST(Summary, LossesAreBetterWhenLowerAndHaveNoChance) {
  const Comparison c;
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 6; ++seed) c.add("text", encoding, seed, "nll", {0}, steady);
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_FALSE(s.datasets.at(0).metric.higher_better);
  EXPECT_TRUE(s.aggregates.empty());
  EXPECT_EQ(s.overall.at(0).leader(), "nope");
  EXPECT_EQ(pair_of(s.overall.at(0), "darope", "nope").verdict, Verdict::worse);
  EXPECT_EQ(s.overall.at(0).margin, 0.002);
  EXPECT_DOUBLE_EQ(s.rankings.at(0).ranks[2].mean, 1);
  EXPECT_FALSE(s.rankings.at(0).ranks[2].standard_error);
}

TEST(Summary, DatasetsOfSomeEncodingsStayOutOfOverallNumbers) {
  const Comparison c;
  plant(c, "copy");
  c.add("extra", "hope", 0, "token_accuracy", {1, 2}, planted);
  const Summary s = summarise(gather({c.path()}), {});
  EXPECT_EQ(s.overall.at(0).datasets, std::vector<std::string>{"copy"});
  EXPECT_EQ(s.aggregates.at(0).datasets, std::vector<std::string>{"copy"});
  EXPECT_EQ(s.datasets.at(1).name, "extra");
  EXPECT_NEAR(*cell_of(*s.datasets.at(1).at(1), "hope").mean, 0.84, 1e-12);
}

TEST(Summary, RecallGapIsTheControl) {
  const Comparison c;
  plant(c, "dup_key_recall", [](const std::string& e, int64_t s, double x, int64_t i) {
    return planted(e, s, x, i) - 0.1 * double(s + 1);
  });
  plant(c, "assoc_recall");
  const Summary s = summarise(gather({c.path()}), {});
  ASSERT_EQ(s.gaps.size(), 8u);
  EXPECT_NEAR(s.gaps[0].gap, -0.15, 1e-12);
  EXPECT_NEAR(*s.gaps[0].seed_sd, 0.1 / std::sqrt(2), 1e-12);
}

TEST(Summary, ReferenceMarginAndThePapersFamily) {
  const Comparison c;
  plant(c, "copy");
  const Gathered all = gather({c.path()});
  EXPECT_EQ(summarise(all, {.reference = "nope"}).datasets.at(0).at(1)->paper.at(0).first, "nope");
  expect_contains(error_of([&] { summarise(all, {.reference = "nopee"}); }), "did you mean 'nope'?");
  expect_contains(error_of([&] { summarise(all, {.reference = "", .margin = -1}); }), "must be at least 0");
  expect_contains(error_of([&] { summarise(all, {.reference = "", .paper_family = true}); }),
                  "no run of rope:base=10000");
  for (const char* rope : {"rope:base=10000", "rope-10k"}) {
    const Comparison larger;
    plant(larger, "copy");
    for (const char* extra : {"cope", rope})
      for (int64_t seed = 0; seed < 2; ++seed)
        larger.add("copy", extra, seed, "token_accuracy", {1, 2}, planted);
    const Summary s = summarise(gather({larger.path()}), {.reference = "", .paper_family = true});
    EXPECT_EQ(s.datasets.at(0).at(1)->paper.size(), 4u);
    EXPECT_NEAR(against(s.datasets.at(0).at(1)->paper, "nope").holm_ln_p,
                std::log(4 * 1.6037163868283188e-32), 1e-9);
  }
}

}  // namespace
}  // namespace darope::report
