#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/json.h"
#include "experiments/own_data.h"
#include "runs/bundle.h"
#include "scratch.h"

namespace darope {
namespace {

const Launch kLaunch{.program = DAROPE_PROGRAM};

CompareConfig tiny(const std::filesystem::path& out) {
  CompareConfig config;
  config.tasks = {"reverse_string", "parity"}, config.encodings = {"nope", "darope", "rope:base=50"};
  config.seeds = 2, config.seed = 5, config.steps = 3, config.jobs = 2, config.dump_dir = out.string(),
  config.device = "cpu";
  config.model.style = "nanogpt", config.model.dim = 16, config.model.n_layers = 1, config.model.n_heads = 2;
  config.data.seq_len = 24, config.data.batch_size = 2, config.data.test_examples = 3;
  return config;
}

TEST(Compare, PlansEveryEncodingOnEveryTaskWithEverySeed) {
  const Scratch out;
  const std::vector<RunConfig> plan = make_plan(tiny(out.path()));
  ASSERT_EQ(plan.size(), 12u);
  EXPECT_EQ(plan[0].dump_dir, (out / "runs/reverse_string-nope-s5").string());
  EXPECT_EQ(plan[2].name, "reverse_string-rope_base_50-s5");
  EXPECT_EQ(plan[11].seed, 6);
  EXPECT_EQ(plan[11].model.seed, 6);
  EXPECT_EQ(plan[11].data.task, "parity");
  EXPECT_EQ(plan[0].model.vocab_size, 256);
  EXPECT_EQ(plan[0].model.max_seqlen, 24);
}

TEST(Compare, RefusesAPlanThatCannotRun) {
  const Scratch out;
  const auto refusal = [&](auto change) {
    CompareConfig config = tiny(out.path());
    change(config);
    return error_of([&] { make_plan(config); });
  };
  expect_contains(refusal([](CompareConfig& c) { c.encodings = {"ropee"}; }), "did you mean 'rope'?");
  expect_contains(refusal([](CompareConfig& c) { c.tasks = {"parrity"}; }), "did you mean 'parity'?");
  expect_contains(refusal([](CompareConfig& c) { c.encodings = {"rope", "rope"}; }), "twice");
  expect_contains(refusal([](CompareConfig& c) { c.encodings = {"yarn"}; }), "cannot be trained");
  expect_contains(refusal([](CompareConfig& c) { c.seeds = 0; }), "from 1 to 1000");
  expect_contains(refusal([](CompareConfig& c) { c.tasks.clear(); }), "tasks is empty");
  expect_contains(refusal([](CompareConfig& c) { c.model.vocab_size = 10; }), "has ids up to 255");
}

TEST(Compare, RunsShareAllButTheEncodingAndFinishedOnesAreLeftAlone) {
  const Scratch out;
  const CompareConfig config = tiny(out.path());
  const std::vector<RunConfig> plan = make_plan(config);
  run_plan(plan, config, kLaunch);
  std::vector<Json> runs;
  std::vector<std::filesystem::file_time_type> times;
  for (const RunConfig& run : plan) {
    const std::filesystem::path file = std::filesystem::path(run.dump_dir) / "run.json";
    runs.push_back(parse_json(read_file(file), file.string()));
    times.push_back(std::filesystem::last_write_time(file));
    EXPECT_EQ(runs.back().at("status"), "finished");
    EXPECT_EQ(runs.back().at("encoding"), run.model.encoding);
    EXPECT_EQ(runs.back().at("tokens"), 3 * 2 * 24);
    EXPECT_TRUE(std::filesystem::exists(file.parent_path() / "results.jsonl"));
  }
  for (const size_t first : {0, 3, 6, 9})  // three encodings on one task with one seed
    for (const size_t i : {first + 1, first + 2})
      for (const char* key : {"shared_init", "data_order", "config_without_encoding", "tokens"})
        EXPECT_EQ(runs[i].at(key), runs[first].at(key)) << key;
  EXPECT_NE(runs[0].at("data_order"), runs[3].at("data_order"));  // another task
  EXPECT_NE(runs[0].at("data_order"), runs[6].at("data_order"));  // another seed
  EXPECT_NE(runs[0].at("shared_init"), runs[6].at("shared_init"));
  run_plan(make_plan(config), config, kLaunch);
  for (size_t i = 0; i < plan.size(); ++i)
    EXPECT_EQ(std::filesystem::last_write_time(std::filesystem::path(plan[i].dump_dir) / "run.json"),
              times[i]);
  CompareConfig other = config;
  other.optim.lr = 0.5;
  expect_contains(error_of([&] { check_folder(make_plan(other)); }),
                  "belongs to another comparison (of parity-darope-s5, optim.lr was");
}

TEST(Compare, AFolderTakesMoreOfItsOwnAndNothingElse) {
  const Scratch out;
  CompareConfig first = tiny(out.path());
  first.encodings = {"nope"}, first.seeds = 1;
  check_folder(make_plan(first));  // nothing is there yet
  run_plan(make_plan(first), first, kLaunch);
  const auto refusal = [&](auto change) {
    CompareConfig config = first;
    change(config);
    return error_of([&] { check_folder(make_plan(config)); });
  };
  EXPECT_EQ(refusal([](CompareConfig& c) { c.seeds = 2; }), "");
  EXPECT_EQ(refusal([](CompareConfig& c) { c.seed = 7; }), "");
  EXPECT_EQ(refusal([](CompareConfig& c) { c.encodings = {"rope"}; }), "");
  EXPECT_EQ(refusal([](CompareConfig& c) { c.tasks.push_back("even_pairs"); }), "");
  EXPECT_EQ(refusal([](CompareConfig& c) { c.tasks = {"even_pairs"}; }), "");
  EXPECT_EQ(refusal([](CompareConfig& c) { c.jobs = 1, c.threads = 2; }), "");
  // Runs of their own names would not meet those that are there, and still join their report.
  write_file(out.path() / "own.txt", std::string(100'000, 'x'));
  const auto own_file = [&](CompareConfig& c) {
    c.tasks.clear(), c.data.path = (out.path() / "own.txt").string();
  };
  expect_contains(refusal(own_file),
                  "holds runs on parity, this one is on own; choose another folder with --out");
  expect_contains(refusal([](CompareConfig& c) { c.encodings = {"rope"}, c.steps = 4; }),
                  "(of parity-nope-s5, steps was 3 and is now 4)");
}

TEST(Compare, SharesCoverThePlanOnce) {
  const Scratch out;
  const std::vector<RunConfig> plan = make_plan(tiny(out.path()));
  std::multiset<std::string> covered;
  for (const int64_t i : {0, 1, 2, 3, 4}) {
    const std::vector<RunConfig> share = share_of(plan, {i, 5});
    EXPECT_GE(share.size(), 2u);
    for (const RunConfig& run : share) covered.insert(run.name);
  }
  EXPECT_EQ(covered.size(), plan.size());
  EXPECT_EQ(std::set<std::string>(covered.begin(), covered.end()).size(), plan.size());
  EXPECT_EQ(share_of(plan, {}).size(), plan.size());
}

TEST(Compare, GoesOnFromABundle) {
  const Scratch first, second;
  CompareConfig config = tiny(first.path());
  config.encodings = {"nope", "darope"}, config.seeds = 1;
  run_plan(share_of(make_plan(config), {0, 2}), config, kLaunch);
  write_bundle(first / "a.tar.zst", {first.path()});

  config.dump_dir = second.path().string();
  const std::vector<RunConfig> plan = make_plan(config);
  take_finished(plan, first / "a.tar.zst");
  std::vector<bool> finished;
  for (const RunConfig& run : plan) finished.push_back(RunFolder(run.dump_dir).is_finished());
  EXPECT_EQ(finished, (std::vector<bool>{true, false, true, false}));
  const std::string facts = read_file(std::filesystem::path(plan[0].dump_dir) / "run.json");
  EXPECT_EQ(facts, read_file(first / "runs/reverse_string-nope-s5/run.json"));
  run_plan(make_plan(config), config, kLaunch);
  EXPECT_EQ(read_file(std::filesystem::path(plan[0].dump_dir) / "run.json"), facts);  // not trained again
  EXPECT_EQ(write_bundle(second / "b.tar.zst", {second.path()}), 4u);

  const Scratch third;
  config.dump_dir = third.path().string(), config.optim.lr = 0.5;
  expect_contains(error_of([&] { take_finished(make_plan(config), first / "a.tar.zst"); }),
                  "belongs to another run (optim.lr");
  EXPECT_FALSE(std::filesystem::exists(third / "runs"));
}

TEST(Compare, SaysWhatAPlanWouldCostAndKeepsNothing) {
  const Scratch out;
  CompareConfig config = tiny(out.path());
  config.steps = 1000, config.data.test_examples = 16;
  testing::internal::CaptureStdout();
  print_cost(make_plan(config), config, {}, kLaunch);
  const std::string printed = testing::internal::GetCapturedStdout();
  for (const char* part :
       {"nope", "darope", "rope:base=50", " ms ", "12 runs, 0 of them finished", "of memory", "of disk"})
    expect_contains(printed, part);
  EXPECT_TRUE(std::filesystem::is_empty(out.path()));
}

TEST(OwnData, TheModelFollowsTheFile) {
  const Scratch folder;
  const auto config_of = [&](const std::string& name, size_t bytes) {
    write_file(folder / name, std::string(bytes, 'x'));
    return config_for(folder / name);
  };
  const CompareConfig tiny_one = config_of("tiny.txt", 3000), middle = config_of("middle.txt", 60'000),
                      large = config_of("large.txt", 400'000);
  EXPECT_EQ(tiny_one.data.seq_len, 16);
  EXPECT_EQ(middle.data.seq_len, 64);
  EXPECT_EQ(large.data.seq_len, 128);
  EXPECT_LT(middle.model.dim, large.model.dim);
  EXPECT_LE(middle.steps * 1024, 10 * 60'000);  // no more than ten passes
  EXPECT_EQ(large.dump_dir, "runs/large");
  for (const CompareConfig* config : {&tiny_one, &middle, &large}) {
    EXPECT_EQ(config->data.seq_len * config->data.batch_size, 1024);
    // Tokens read in the test, and in training with two readings for the way back.
    const int64_t tested = config->data.test_examples * 11 * config->data.seq_len,
                  trained = 3 * config->steps * 1024;
    EXPECT_GE(config->data.test_examples, 128);
    EXPECT_TRUE(3 * tested <= trained || config->data.test_examples == 128) << tested << " " << trained;
  }
  EXPECT_GT(middle.data.test_examples, 128);
  // The last tenth of the file, after seven windows of text, holds fewer: all of them are scored.
  const Dataset data = open_data(middle);
  EXPECT_EQ(data.tests.back().set->size(), (6000 - 1) / 64 - 7);
  CompareConfig plan = middle;
  plan.dump_dir = (folder / "out").string();
  EXPECT_EQ(make_plan(plan).size(), 14u);  // six encodings and rope stretched by YaRN, two seeds
  expect_contains(error_of([&] { make_plan(config_of("short.txt", 200)); }),
                  "200 tokens: too few for a test set");
}

// What a run's program may do instead of training, and what the comparison then says of it.
std::string failure_of(const std::string& script, double patience = 0.5, double after_asking = 0.5) {
  const Scratch out;
  CompareConfig config = tiny(out.path());
  config.tasks = {"parity"}, config.encodings = {"nope"}, config.seeds = 1;
  write_file(out / "program", "#!/bin/sh\n" + script + "\n");
  std::filesystem::permissions(out / "program", std::filesystem::perms::owner_all);
  const Launch launch{
      .program = out / "program", .patience = patience, .patience_after_asking = after_asking};
  const std::string words = error_of([&] { run_plan(make_plan(config), config, launch); });
  const std::string log = read_file(out / "jobs/parity-nope-s5.log");
  EXPECT_TRUE(log.starts_with("cd ")) << log;
  expect_contains(log.substr(0, log.find('\n')),
                  "/program train " + (out / "jobs/parity-nope-s5.yaml").string());
  return words;
}

TEST(Jobs, SayHowARunEnded) {
  expect_contains(failure_of("exit 7"), "not every run came to its end: parity-nope-s5 (exit code 7, see ");
  expect_contains(failure_of("exit 5"), "(another process is at work there");
  expect_contains(failure_of("kill -9 $$"), "(killed, perhaps by the system for want of memory");
  expect_contains(failure_of("kill -6 $$"), "(ended by signal 6, Aborted");
}

// It waits for long, and then needs a while to save.
TEST(Jobs, GiveARunThatIsAskedToStopTheTimeToDoSo) {
  const Scratch out;
  const std::string saved = (out / "saved").string();
  failure_of("trap 'sleep 0.5; : >" + saved + "; exit 75' TERM\nsleep 60 &\nwait", 1, 60);
  EXPECT_TRUE(std::filesystem::exists(saved));
}

// It stands still, and does not hear SIGTERM.
TEST(Jobs, EndARunThatDoesNotAnswer) {
  expect_contains(failure_of("kill -STOP $$"), "(did not answer and was ended");
}

}  // namespace
}  // namespace darope
