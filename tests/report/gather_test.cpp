#include "report/gather.h"

#include "planted.h"

namespace darope::report {
namespace {

TEST(Gather, ReadsRunsScoresAndThinsCurves) {
  const Comparison c;
  plant(c, "copy");
  const Gathered all = gather({c.path()});
  EXPECT_EQ(all.encodings, kEncodings);
  EXPECT_EQ(all.datasets, std::vector<std::string>{"copy"});
  EXPECT_EQ(all.seeds, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(all.notes.empty());
  const report::Run& run = *all.find("copy", "nope", 1);
  const Scores& scores = run.scores.at({"token_accuracy", "length"}).at(2);
  EXPECT_EQ(scores.values.size(), 40u);
  EXPECT_DOUBLE_EQ(scores.values[4], planted("nope", 1, 2, 4));
  EXPECT_EQ(scores.clusters, scores.examples);  // the first version told none
  EXPECT_EQ(run.config, "seed: 1\n");
  ASSERT_EQ(run.curve.size(), kCurvePoints);
  EXPECT_EQ(run.curve.front().step, 5);  // the mean of steps 1 to 5
  EXPECT_DOUBLE_EQ(run.curve.front().loss, (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5.) / 5);
  EXPECT_EQ(run.curve.back().step, 1000);
}

// A run of this version: its metrics are described beside the scores, and need no name that a reader knows.
void write_second_version(const Comparison& c, const std::string& encoding, int64_t cluster_size,
                          const Json& changes = Json::object()) {
  c.add("copy", encoding, 0, "token_accuracy", {}, planted);
  const std::filesystem::path folder = c.folder("copy", encoding, 0);
  const Json length{{"name", "length"}, {"unit", "x"}, {"meaning", ""}},
      position{{"name", "position"}, {"unit", ""}, {"meaning", ""}};
  Json facts = parse_json(read_file(folder / "run.json"), "run.json");
  facts["schema"] = 2;
  facts["metrics"] = {{{"name", "token_accuracy"},
                       {"axis", length},
                       {"title", "token accuracy"},
                       {"unit", "share"},
                       {"higher_better", true},
                       {"chance", 0.1},
                       {"true_chance", 0.5},
                       {"floor", {{"1", 0.5}}}},
                      {{"name", "surprise"}, {"axis", position}, {"unit", "bits"}, {"higher_better", false}}};
  facts.update(changes);
  std::string lines;
  for (int64_t i = 0; i < 40; ++i) {
    lines += to_line({.metric = "token_accuracy",
                      .at = 1,
                      .example = i,
                      .cluster = i / cluster_size,
                      .value = planted(encoding, 0, 1, i),
                      .tokens = 1 + i % 7});
    for (const double at : {0.5, 512.0})
      lines += to_line({.metric = "surprise", .axis = "position", .at = at, .example = i, .value = at});
  }
  write_file(folder / "run.json", facts.dump());
  write_file(folder / "results.jsonl", lines);
}

TEST(Gather, ReadsMetricsAxesAndClustersFromTheScores) {
  const Comparison c;
  write_second_version(c, "hope", 4);
  c.add("copy", "rope", 0, "token_accuracy", {1},
        planted);  // the first version: another may tell its clusters
  const Gathered all = gather({c.path()});
  const report::Run &hope = *all.find("copy", "hope", 0), &rope = *all.find("copy", "rope", 0);
  EXPECT_EQ(hope.scores.at({"token_accuracy", "length"}).at(1).clusters[7], 1);
  EXPECT_EQ(rope.scores.at({"token_accuracy", "length"}).at(1).clusters[7], 1);
  EXPECT_EQ(hope.metrics.at(1).unit, "bits");
  EXPECT_FALSE(hope.metrics.at(1).higher_better);
  EXPECT_EQ(hope.scores.at({"surprise", "position"}).at(512).values, std::vector<double>(40, 512));
  EXPECT_DOUBLE_EQ(hope.metrics.at(0).floor.at(1), 0.5);
  write_second_version(c, "pope", 5);
  expect_contains(error_of([&] { gather({c.path()}); }), "clusters of test examples differ");
}

TEST(Gather, RefusesScoresThatFactsAndLinesTellDifferently) {
  const auto complaint = [](const Json& changes) {
    const Comparison c;
    write_second_version(c, "hope", 1, changes);
    return error_of([&] { gather({c.path()}); });
  };
  const Json axis{{"name", "length"}};
  const Json accuracy{{"name", "token_accuracy"}, {"axis", axis}, {"higher_better", true}};
  expect_contains(complaint({{"metrics", Json::array({accuracy})}}),
                  "surprise along position, which the run does not describe");
  expect_contains(complaint({{"metrics", {accuracy, accuracy}}}), "is described twice");
  expect_contains(
      complaint({{"metrics", {accuracy, {{"name", "other"}, {"axis", axis}, {"higher_better", true}}}}}),
      "no score of other along length");
  expect_contains(complaint({{"metrics", {{{"name", "token_accuracy"}, {"higher_better", true}}}}}),
                  "'axis' is missing");
  expect_contains(complaint({{"metrics", 7}}), "'metrics' is no list");
}

TEST(Gather, RefusesRunsThatDifferBeyondTheEncoding) {
  for (const auto& [key, words] : std::map<std::string, std::string>{
           {"shared_init", "initial shared weights differ"},
           {"data_order", "data order differs"},
           {"config_without_encoding", "configs beyond the encoding differ"}}) {
    const Comparison c;
    plant(c, "copy");
    c.add("copy", "rope", 1, "token_accuracy", {1, 2}, planted, {{key, "another"}});
    const std::string why = error_of([&] { gather({c.path()}); });
    expect_contains(why, words);
    expect_contains(why, c.folder("copy", "rope", 1).string());
  }
  const Comparison c;
  plant(c, "copy");
  c.add("copy", "rope", 1, "token_accuracy", {1, 2}, planted, {{"tokens", 5001}});
  expect_contains(error_of([&] { gather({c.path()}); }), "numbers of training tokens differ");
}

TEST(Gather, RefusesSeedsThatWereTrainedOtherwise) {
  for (const auto& [key, words] :
       std::map<std::string, std::string>{{"config_without_encoding", "configs beyond the encoding differ"},
                                          {"dtype", "types of number differ"}}) {
    const Comparison c;
    c.add("copy", "rope", 0, "token_accuracy", {1, 2}, planted, {{key, "one"}});
    c.add("copy", "rope", 1, "token_accuracy", {1, 2}, planted, {{key, "another"}});
    expect_contains(error_of([&] { gather({c.path()}); }), words);
  }
}

TEST(Gather, OtherSeedsAndDatasetsMayDiffer) {
  const Comparison c;
  plant(c, "copy");
  plant(c, "sort", planted, {{"tokens", 9000}, {"config_without_encoding", "of sort"}});
  EXPECT_EQ(gather({c.path()}).runs.size(), 16u);
}

TEST(Gather, RefusesOtherTestsAndDoubles) {
  const Comparison c;
  plant(c, "copy");
  c.add("copy", "rope", 0, "token_accuracy", {1, 2}, planted, Json::object(), 39);
  expect_contains(error_of([&] { gather({c.path()}); }), "were not tested alike");
  const Comparison one, other;
  plant(one, "copy");
  other.add("copy", "hope", 1, "token_accuracy", {1, 2}, planted, {{"seconds", 9.5}});
  expect_contains(error_of([&] { gather({one.path(), other.path()}); }),
                  "both hold hope on copy with seed 1");
}

TEST(Gather, RefusesOtherAccountsOfOneTest) {
  for (const auto& [changes, words] : std::vector<std::pair<Json, std::string>>{
           {{{"chance", 0.2}}, "another chance"},
           {{{"true_chance", 0.4}}, "another chance"},
           {{{"best_constant", {{"1", 0.4}, {"2", 0.5}}}}, "another best constant answer"}}) {
    const Comparison c;
    plant(c, "copy");
    c.add("copy", "rope", 0, "token_accuracy", {1, 2}, planted, changes);
    expect_contains(error_of([&] { gather({c.path()}); }),
                    "were not tested alike: token_accuracy has " + words);
  }
  const Comparison c;
  plant(c, "copy");
  c.add("copy", "rope", 0, "token_accuracy", {1, 2}, planted);
  const std::filesystem::path scores = c.folder("copy", "rope", 0) / "results.jsonl";
  std::string lines = read_file(scores);
  write_file(scores, lines.replace(lines.find("\"tokens\":1"), 10, "\"tokens\":9"));
  expect_contains(error_of([&] { gather({c.path()}); }), "token_accuracy has other numbers of tokens");
}

TEST(Gather, FoldersOfShardsCountAsOne) {
  const Comparison one, other;
  one.add("copy", "hope", 0, "token_accuracy", {1, 2}, planted);
  other.add("copy", "nope", 0, "token_accuracy", {1, 2}, planted);
  EXPECT_EQ(gather({one.path(), other.path()}).encodings, (std::vector<std::string>{"hope", "nope"}));
  one.add("copy", "nope", 0, "token_accuracy", {1, 2}, planted);  // copied over from the other
  EXPECT_EQ(gather({one.path(), other.path()}).runs.size(), 2u);
}

TEST(Gather, EncodingsStandInTheOrderGiven) {
  const Comparison c;
  for (const char* encoding :
       {"darope", "rope-500k", "rope-10k", "darope-dynamic", "mine", "nope", "rope:base=7"})
    c.add("copy", encoding, 0, "token_accuracy", {1}, planted);
  EXPECT_EQ(gather({c.path()}, {"nope", "rope", "darope", "darope-dynamic"}).encodings,
            (std::vector<std::string>{"nope", "rope-10k", "rope-500k", "rope:base=7", "darope",
                                      "darope-dynamic", "mine"}));
}

TEST(Gather, NotesWhatIsMissingUnfinishedOrDiverged) {
  const Comparison c;
  plant(c, "copy");
  plant(c, "sort");
  c.add("sort", "pope", 1, "token_accuracy", {}, planted, {{"status", "diverged"}, {"tokens", 70}});
  remove_tree(c.folder("sort", "nope", 0));
  remove_file(c.folder("copy", "hope", 0) / "run.json");
  for (int64_t seed = 0; seed < 2; ++seed) remove_tree(c.folder("copy", "nope", seed));
  std::string notes;
  for (const std::string& note : gather({c.path()}).notes) notes += note + "\n";
  expect_contains(notes, "pope diverged on sort with seed 1 after 10 steps.");
  expect_contains(notes, "nope on sort lacks seed 0.");
  expect_contains(notes, "nope was not run on copy.");
  expect_contains(notes, "hope on copy lacks seed 0.");
  expect_contains(notes, "copy-hope-s0 is not finished");
}

TEST(Gather, NamesTheSameGapOnce) {
  const Comparison c;
  for (const char* dataset : {"copy", "sort", "add"}) plant(c, dataset);
  for (const std::string& encoding : gather({c.path()}).encodings)
    for (const char* dataset : {"copy", "sort"}) remove_tree(c.folder(dataset, encoding, 1));
  remove_tree(c.folder("add", "nope", 0));
  EXPECT_EQ(
      gather({c.path()}).notes,
      (std::vector<std::string>{"nope on add lacks seed 0.", "Every encoding on copy, sort lacks seed 1."}));
}

TEST(Gather, SaysWhatIsWrongWithAFile) {
  const auto complaint = [](const std::string& file, const std::string& text) {
    const Comparison c;
    plant(c, "copy");
    write_file(c.folder("copy", "hope", 0) / file, text);
    return error_of([&] { gather({c.path()}); });
  };
  expect_contains(complaint("run.json", "{"), "not JSON");
  expect_contains(complaint("run.json", "[]"), "'schema' is missing");
  expect_contains(complaint("run.json", R"({"schema":4})"), "schema 4 is none of 1 to 3");
  expect_contains(complaint("run.json", R"({"schema":"one"})"), "'schema' is \"one\"");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\"}\n"),
                  "results.jsonl line 1: 'value' is missing");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\",\"x\":1,\"example\":0,\"value\":null}\n"),
                  "'value' is null");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\",\"x\":1,\"example\":4,\"value\":1}\n"),
                  "do not count up from 0");
  const std::string line = "{\"metric\":\"nll\",\"x\":1,\"example\":0,\"value\":1}\n";
  expect_contains(complaint("results.jsonl", line + line), "line 2: example 0 is scored twice");
  expect_contains(
      complaint("results.jsonl", "{\"metric\":\"token_accuracy\",\"x\":1,\"example\":0,\"value\":1.5}\n"),
      "token_accuracy of example 0 is 1.5, and a share should be from 0 to 1");
  const Scratch empty;
  expect_contains(error_of([&] { gather({empty.path()}); }), "holds no comparison");
  std::filesystem::create_directories(empty / "runs");
  expect_contains(error_of([&] { gather({empty.path()}); }), "no finished run");
}

}  // namespace
}  // namespace darope::report
