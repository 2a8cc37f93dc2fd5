#include "report/settling.h"

#include "planted.h"
#include "report/report.h"
#include "report/results.h"
#include "runs/bundle.h"
#include "stats/judge.h"

namespace darope::report {
namespace {

ComparisonRecord record_of(const std::vector<int64_t>& rounds, const Margins& margins = {}) {
  ComparisonRecord record;
  record.datasets["copy"] = {margins, Settling{.rounds = rounds}};
  return record;
}

const Decision* decision_on(const Look& look, const std::string& first, const std::string& second) {
  for (const Decision& each : look.decided)
    if (each.first == first && each.second == second) return &each;
  return nullptr;
}

TEST(Settling, ARoundAsksForSeedsOnlyWhereTheyDecide) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  ComparisonRecord record = record_of({6, 9});
  const std::vector<Look> looks = look_at(c.path(), record, {kEncodings, 0}).at("copy");
  ASSERT_EQ(looks.size(), 2u);  // a length each
  for (const Look& look : looks) {
    EXPECT_EQ(look.leader, "pope");
    EXPECT_EQ(look.open, (std::vector<std::string>{"darope", "hope"}));
    EXPECT_EQ(decision_on(look, "darope", "nope")->verdict, "better");
    EXPECT_EQ(decision_on(look, "darope", "hope")->verdict, "tied");
    EXPECT_EQ(decision_on(look, "darope", "pope"), nullptr);
  }
  Settling& settling = *record.datasets["copy"].settling;
  settling.looks = looks;
  EXPECT_FALSE(settling.is_through());
  const std::map<std::string, int64_t> asked{{"darope", 9}, {"hope", 9}, {"nope", 6}, {"pope", 9}};
  EXPECT_EQ(settling.seeds_asked(kEncodings), asked);
}

// What is scored without a training has the seeds of the weights that it scores, whichever of them asks.
TEST(Settling, ScoredWeightsHaveTheSeedsOfTheirTraining) {
  const std::vector<std::string> encodings{"darope", "nope", "rope", "yarn"};
  const auto asked = [&](std::vector<std::string> open) {
    const Settling settling{.rounds = {3, 5, 8},
                            .looks = {{.round = 1, .x = 1, .leader = "darope", .open = std::move(open)}},
                            .weights_of = {{"yarn", "rope"}, {"yarn:factor=8", "rope"}}};
    return settling.seeds_asked(encodings);
  };
  using Seeds = std::map<std::string, int64_t>;
  EXPECT_EQ(asked({"yarn"}), (Seeds{{"darope", 5}, {"nope", 3}, {"rope", 5}, {"yarn", 5}}));
  EXPECT_EQ(asked({"rope"}), (Seeds{{"darope", 5}, {"nope", 3}, {"rope", 5}, {"yarn", 5}}));
  EXPECT_EQ(asked({"nope"}), (Seeds{{"darope", 5}, {"nope", 5}, {"rope", 3}, {"yarn", 3}}));
}

TEST(Settling, RunsBeyondThePlanDoNotCount) {
  const Comparison few, many;
  plant(few, "copy", steady, Json::object(), 3);
  plant(many, "copy", steady, Json::object(), 8);
  const auto looks = [](const Comparison& c) {
    return look_at(c.path(), record_of({3, 8}), {kEncodings, 0}).at("copy");
  };
  const std::vector<Look> one = looks(few), other = looks(many);
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].open, other[i].open);
    ASSERT_EQ(one[i].decided.size(), other[i].decided.size());
    for (size_t d = 0; d < one[i].decided.size(); ++d) {
      EXPECT_EQ(one[i].decided[d].low, other[i].decided[d].low);
      EXPECT_EQ(other[i].decided[d].seeds, 3);
    }
  }
}

TEST(Settling, NoSeedsAreSpentOnWhatNobodyLearned) {
  const Comparison c;
  plant(c, "copy", guessing, Json::object(), 4);
  ComparisonRecord record = record_of({4, 6});
  record.datasets["copy"].settling->looks = look_at(c.path(), record, {kEncodings, 0}).at("copy");
  EXPECT_FALSE(record.datasets["copy"].settling->looks.front().learned);
  EXPECT_TRUE(record.datasets["copy"].settling->is_through());
}

TEST(Settling, AVerdictStandsFromTheRoundThatGaveIt) {
  const Settling settling{
      .rounds = {3, 5},
      .looks = {{.round = 1, .x = 1, .leader = "a", .decided = {{"b", "a", "worse", -0.2, -0.3, -0.1, 3}}}}};
  stats::Judged judged;
  judged.encodings = {"a", "b"};
  judged.pairs.resize(1);
  judged.pairs[0].second = 1;
  stats::Judged elsewhere = judged;
  let_stand(settling, 1, judged);
  EXPECT_EQ(judged.pairs[0].verdict, stats::Verdict::better);
  EXPECT_EQ(judged.pairs[0].interval.low, 0.1);
  EXPECT_EQ(judged.pairs[0].interval.high, 0.3);
  let_stand(settling, 2, elsewhere);
  EXPECT_EQ(elsewhere.pairs[0].verdict, stats::Verdict::undecided);
}

// The report of a settled comparison spends no more than its plan does, from folders and from bundles.
TEST(Settling, TheReportKeepsToThePlan) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  const auto width = [&](const std::filesystem::path& from) {
    const Scratch out;
    write_report(out.path(), {from});
    const Json pair =
        parse_json(read_file(out / "results.json"), "results")["datasets"][0]["lengths"][0]["pairs"][0];
    return double(pair["interval"][1]) - double(pair["interval"][0]);
  };
  const double plain = width(c.path());
  write_file(ComparisonFolder(c.path()).record(), to_text(record_of({3, 6, 8, 10}, {.accuracy = 0.03})));
  EXPECT_GT(width(c.path()), 1.1 * plain);
  const Scratch out;
  write_bundle(out / "settled.tar.zst", {c.path()});
  EXPECT_EQ(width(out / "settled.tar.zst"), width(c.path()));
  const Summary s = write_report(out.path(), {out / "settled.tar.zst"});
  EXPECT_EQ(s.datasets.at(0).margin, 0.03);  // fixed before the runs
  EXPECT_EQ(s.overall.at(0).margin, 0.03);
  expect_contains(read_file(out / "report.html"), "in up to 4 rounds that were fixed before the first");
  Options asked;
  asked.margin = 0.5;
  EXPECT_EQ(summarise(gather({c.path()}), asked).datasets.at(0).margin, 0.5);
}

// To look at the runs of a round that is not through would be one look more than the plan has.
TEST(Settling, AReportJudgesRoundsThatAreThroughAlone) {
  const Comparison through, beyond;
  plant(through, "copy", steady, Json::object(), 3);
  plant(beyond, "copy", steady, Json::object(), 5);
  ComparisonRecord record = record_of({3, 8});
  const auto report = [&](const Comparison& c) {
    write_file(ComparisonFolder(c.path()).record(), to_text(record));
    return summarise(gather({c.path()}), {});
  };
  for (const Summary& s : {report(through), report(beyond)})
    for (const stats::PairVerdict& pair : s.datasets.at(0).lengths.at(0).judged->pairs)
      EXPECT_EQ(pair.verdict, stats::Verdict::undecided);  // no round is through
  record.datasets["copy"].settling->looks = look_at(through.path(), record, {kEncodings, 0}).at("copy");
  const Summary one = report(through), other = report(beyond);
  const auto &pairs = one.datasets.at(0).lengths.at(0).judged->pairs,
             &others = other.datasets.at(0).lengths.at(0).judged->pairs;
  ASSERT_EQ(pairs.size(), others.size());
  for (size_t p = 0; p < pairs.size(); ++p) {
    EXPECT_EQ(pairs[p].interval.low, others[p].interval.low);
    EXPECT_EQ(pairs[p].verdict, others[p].verdict);
    EXPECT_EQ(others[p].seeds, 3u);
  }
  EXPECT_TRUE(std::ranges::any_of(
      pairs, [](const stats::PairVerdict& pair) { return pair.verdict != stats::Verdict::undecided; }));
  EXPECT_EQ(std::ranges::count_if(other.notes,
                                  [](const std::string& note) {
                                    return note.find("no round has judged them yet") != std::string::npos;
                                  }),
            1);
  // The round that goes on sees all of them.
  EXPECT_EQ(look_at(beyond.path(), record, {kEncodings, 0}).at("copy").front().round, 2);
}

TEST(Settling, OtherMarginsAndPlansAreNotJoined) {
  ComparisonRecord record = record_of({3, 5});
  expect_contains(error_of([&] { record.join(record_of({3, 5}, {.loss = 1}), "b"); }),
                  "b: the margins for copy were fixed before its runs, 1 nats");
  expect_contains(error_of([&] { record.join(record_of({3, 6}), "b"); }), "fixed before the first, [3, 6]");
  ComparisonRecord further = record_of({3, 5});
  further.datasets["copy"].settling->looks = {{.round = 1, .leader = "darope"}};
  record.join(further, "b");
  EXPECT_EQ(record.datasets["copy"].settling->rounds_made(), 1);
}

TEST(Settling, RecordsReadBackAndDamageIsNamed) {
  ComparisonRecord record = record_of({2, 4}, {.loss = 0.001, .accuracy = 0.02});
  record.seconds = 12.5;
  record.datasets["copy"].settling->until = "2h";
  record.datasets["copy"].settling->looks = {
      {.round = 1, .x = 2, .leader = "a", .open = {"b"}, .decided = {{"a", "c", "better", 1, 0.5, 1.5, 2}}}};
  const std::string text = to_text(record);
  EXPECT_EQ(to_text(parse_record(text, "r")), text);
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    other.replace(other.find("sha256"), 6, "sha");  // as versions without a hash wrote it
    return error_of([&] { parse_record(other, "r"); });
  };
  expect_contains(broken("\"schema\": 1", "\"schema\": 9"), "schema 9 is not 1");
  expect_contains(broken("\"round\": 1", "\"round\": 3"), "round 3 is not one of 2");
  expect_contains(broken("\"loss\": 0.001", "\"loss\": -1"), "margins.loss is -1: it must be above 0");
  expect_contains(broken("\"accuracy\": 0.02", "\"accuracy\": 1.5"),
                  "margins.accuracy is 1.5: it must be above 0 and below 1");
  expect_contains(broken("\"open\": [", "\"open\": 7, \"x2\": ["), "'open' is 7");
  std::string changed = text;
  changed.replace(changed.find("0.001"), 5, "0.002");
  expect_contains(error_of([&] { parse_record(changed, "r"); }), "is not what was written");
  EXPECT_THROW(check_rounds({5, 3}), Error);
  EXPECT_THROW(check_rounds({1, 3}), Error);
  EXPECT_THROW(check_rounds({}), Error);
}

}  // namespace
}  // namespace darope::report
