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
  EXPECT_EQ(run.scores.at("token_accuracy").at(2).size(), 40u);
  EXPECT_DOUBLE_EQ(run.scores.at("token_accuracy").at(2)[4], planted("nope", 1, 2, 4));
  EXPECT_EQ(run.config, "seed: 1\n");
  ASSERT_EQ(run.curve.size(), kCurvePoints);
  EXPECT_EQ(run.curve.front().step, 5);  // the mean of steps 1 to 5
  EXPECT_DOUBLE_EQ(run.curve.front().loss, (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5.) / 5);
  EXPECT_EQ(run.curve.back().step, 1000);
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
  expect_contains(complaint("run.json", R"({"schema":2})"), "schema 2 is not the 1");
  expect_contains(complaint("run.json", R"({"schema":"one"})"), "'schema' is \"one\"");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\"}\n"),
                  "results.jsonl line 1: 'value' is missing");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\",\"x\":1,\"example\":0,\"value\":null}\n"),
                  "'value' is null");
  expect_contains(complaint("results.jsonl", "{\"metric\":\"nll\",\"x\":1,\"example\":4,\"value\":1}\n"),
                  "do not count up from 0");
  const std::string line = "{\"metric\":\"nll\",\"x\":1,\"example\":0,\"value\":1}\n";
  expect_contains(complaint("results.jsonl", line + line), "line 2: example 0 is scored twice");
  const Scratch empty;
  expect_contains(error_of([&] { gather({empty.path()}); }), "holds no comparison");
  std::filesystem::create_directories(empty / "runs");
  expect_contains(error_of([&] { gather({empty.path()}); }), "no finished run");
}

}  // namespace
}  // namespace darope::report
