#include "base/config.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/json.h"
#include "scratch.h"

namespace darope {
namespace {

struct OptimConfig {
  double lr = 3e-3;
  int64_t warmup = 2000;
  std::optional<double> clip = 1.0;
  void fields(auto&& visit) {
    visit("lr", lr, "peak learning rate");
    visit("warmup", warmup, "linear warm-up steps");
    visit("clip", clip, "largest gradient norm");
  }
};
struct DumpConfig {
  int64_t every = 100, keep = 2;
  void fields(auto&& visit) {
    visit("every", every, "steps between checkpoints");
    visit("keep", keep, "checkpoints kept");
  }
};
struct CheckpointConfig {
  DumpConfig dump;
  void fields(auto&& visit) { visit("dump", dump, ""); }
};
struct TestConfig {
  std::string name = "quick run";
  int64_t steps = 10;
  bool compile = false;
  std::optional<std::string> note;
  std::vector<std::string> sources = {"a", "b c"};
  std::vector<int64_t> lengths;
  OptimConfig optim;
  CheckpointConfig checkpoint;
  int64_t seed = 42;
  void fields(auto&& visit) {
    visit("name", name, "what the run is called");
    visit("steps", steps, "optimizer steps");
    visit("compile", compile, "");
    visit("note", note, "");
    visit("sources", sources, "");
    visit("lengths", lengths, "");
    visit("optim", optim, "");
    visit("checkpoint", checkpoint, "");
    visit("seed", seed, "");
  }
};

struct Ranges {
  double share = 0.5;
  std::optional<int64_t> heads = 2;
  std::vector<double> weights;
  std::vector<std::string> tasks;
  std::string device = "auto", init;
  void fields(auto&& visit) {
    visit("share", share, "", {.most = 1, .above = 0});
    visit("heads", heads, "", {.least = 1, .below = 9});
    visit("weights", weights, "", {.above = 0});
    visit("tasks", tasks, "", {.names = {"parity", "copy"}});
    visit("device", device, "", {.names = {"auto", "cpu"}, .pattern = "cuda:[0-9]", .or_else = "cuda:N"});
    visit("init", init, "", {.names = {"fan_in"}, .empty = true});
  }
};

TestConfig from(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  TestConfig config;
  read_yaml(list_fields(config), yaml, "x.yaml");
  read_overrides(list_fields(config), overrides);
  return config;
}
std::string complaint(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  return error_of([&] { from(yaml, overrides); });
}

TEST(Config, LaterReadingsWin) {
  EXPECT_EQ(from("").steps, 10);
  EXPECT_EQ(from("steps: 20").steps, 20);
  EXPECT_EQ(from("steps: 20", {"steps=30"}).steps, 30);
  const TestConfig c = from("optim: {lr: 1e-3}\ncheckpoint:\n  dump:\n    every: 7\n", {"--optim.warmup=5"});
  EXPECT_EQ(c.optim.lr, 1e-3);
  EXPECT_EQ(c.optim.warmup, 5);
  EXPECT_EQ(c.checkpoint.dump.every, 7);
  EXPECT_EQ(c.checkpoint.dump.keep, 2);
}

TEST(Config, ReadsFilesAndNamesThem) {
  const Scratch folder;
  write_file(folder / "run.yaml", "# a comment\nsteps: 3\n\noptim:\n  lrr: 1\n");
  TestConfig config;
  expect_contains(
      error_of([&] { load_config(config, folder / "run.yaml", {}); }),
      (folder / "run.yaml").string() + ":5: unknown setting 'optim.lrr'; did you mean 'optim.lr'?");
  expect_contains(error_of([&] { load_config(config, folder / "absent.yaml", {}); }),
                  "absent.yaml: no such file");
}

TEST(Config, EveryTypeFromFileAndCommandLine) {
  const TestConfig c =
      from("name: 124M\ncompile: true\nsources: [x, 'y z']\nlengths:\n  - 1\n  - -2\noptim:\n  clip: null\n");
  EXPECT_EQ(c.name, "124M");
  EXPECT_TRUE(c.compile);
  EXPECT_EQ(c.sources, (std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(c.lengths, (std::vector<int64_t>{1, -2}));
  EXPECT_FALSE(c.optim.clip);
  const TestConfig d = from("", {"--compile=true", "name=null: [", "sources=p,q", "lengths=[4, 5]",
                                 "optim.clip=null", "optim.lr=1"});
  EXPECT_TRUE(d.compile);
  EXPECT_EQ(d.name, "null: [");
  EXPECT_EQ(d.sources, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(d.lengths, (std::vector<int64_t>{4, 5}));
  EXPECT_FALSE(d.optim.clip);
  EXPECT_EQ(d.optim.lr, 1.0);
  EXPECT_FALSE(from("compile: true", {"--compile=false"}).compile);
  EXPECT_TRUE(from("", {"sources="}).sources.empty());
  EXPECT_EQ(from("note: x", {"note=a: b"}).note, "a: b");
  EXPECT_EQ(from("note: x", {"note=null"}).note, std::nullopt);
}

TEST(Config, WrongTypesNameKeyAndLine) {
  EXPECT_EQ(complaint("seed: 1\nsteps: 12x"), "x.yaml:2: 'steps' should be an integer, not '12x'");
  EXPECT_EQ(complaint("steps: \"5\""), "x.yaml:1: 'steps' should be an integer, not the string '5'");
  EXPECT_EQ(complaint("steps: 1.5"), "x.yaml:1: 'steps' should be an integer, not '1.5'");
  EXPECT_EQ(complaint("steps: 9223372036854775808"),
            "x.yaml:1: 'steps' should be an integer, not '9223372036854775808'");
  EXPECT_EQ(complaint("steps:"), "x.yaml:1: 'steps' should be an integer, not null");
  EXPECT_EQ(complaint("compile: 1"), "x.yaml:1: 'compile' should be true or false, not '1'");
  EXPECT_EQ(complaint("optim: {lr: .nan}"), "x.yaml:1: 'optim.lr' should be a finite number, not '.nan'");
  EXPECT_EQ(complaint("optim: {lr: 1e999}"), "x.yaml:1: 'optim.lr' should be a finite number, not '1e999'");
  EXPECT_EQ(complaint("optim: {clip: x}"),
            "x.yaml:1: 'optim.clip' should be a finite number or null, not 'x'");
  EXPECT_EQ(complaint("name: [a]"), "x.yaml:1: 'name' should be a string, not a list");
  EXPECT_EQ(complaint("lengths: [1, {a: 2}]"), "x.yaml:1: 'lengths' should be an integer, not a section");
  EXPECT_EQ(complaint("optim: 3"), "x.yaml:1: 'optim' is a section of settings, not '3'");
  EXPECT_EQ(complaint("", {"--steps=ten"}),
            "'--steps=ten' on the command line: 'steps' should be an integer, not 'ten'");
}

TEST(Config, UnknownAndDoubleKeys) {
  expect_contains(complaint("lr: 1"), "x.yaml:1: unknown setting 'lr'; did you mean 'optim.lr'?");
  expect_contains(complaint("", {"optim.lrr=1"}), "did you mean 'optim.lr'?");
  EXPECT_EQ(complaint("colour: red"),
            "x.yaml:1: unknown setting 'colour'. Known: name, steps, compile, note, sources, lengths, "
            "optim.*, checkpoint.*, seed");
  EXPECT_EQ(complaint("optim: {momentum: 1}"),
            "x.yaml:1: unknown setting 'optim.momentum'. Known: optim.lr, optim.warmup, optim.clip");
  expect_contains(complaint("", {"optim=1"}), "'optim' is a section");
  expect_contains(complaint("", {"--compile"}), "'compile' needs a value");
  expect_contains(complaint("", {"steps=1", "--steps=2"}), "'steps' is set twice");
  expect_contains(complaint("steps: 1\nseed: 2\nsteps: 1\n"), "x.yaml:3: 'steps' is set twice");
  expect_contains(complaint("optim: {lr: 1}\noptim: {warmup: 1}"), "x.yaml:2: 'optim' is set twice");
}

TEST(Config, WhatIsNoConfig) {
  expect_contains(complaint("- 1\n- 2"), "x.yaml:1: a config is a list of `name: value`, not a list");
  expect_contains(complaint("just words"), "not 'just words'");
  expect_contains(complaint("a: [1, 2"), "not YAML");
  expect_contains(complaint("steps: 1\n\tseed: 2"), "x.yaml:2: not YAML");
  expect_contains(complaint("steps: 1\n---\nsteps: 2"), "more than one YAML document");
  expect_contains(complaint("name: &a x\nsources: [*a]"), "x.yaml:2: YAML aliases");
  expect_contains(complaint("? [a, b]\n: 1"), "a key must be a name");
  expect_contains(complaint("name: " + std::string(100, '[') + std::string(100, ']')),
                  "nested more than 32 deep");
  expect_contains(complaint(std::string(2'000'000, '#')), "larger than");
}

// One bound is reached and the next number is not, of a setting and of each entry of a list.
TEST(Config, WhatMayNotStandIsRefusedByName) {
  const auto refusal = [](const std::string& override) {
    Ranges ranges;
    return error_of([&] { load_config(ranges, "", {override}); });
  };
  for (const char* fine : {"share=1", "share=5e-324", "heads=1", "heads=8", "heads=null", "weights=1,2",
                           "tasks=copy", "tasks=", "device=cuda:3", "init=", "init=fan_in"})
    EXPECT_EQ(refusal(fine), "") << fine;
  EXPECT_EQ(refusal("share=0"), "share is 0: it must be above 0 and at most 1");
  expect_contains(refusal("share=1.0000000000000002"), "share is 1.0000000000000002: it must be");
  EXPECT_EQ(refusal("heads=9"), "heads is 9: it must be at least 1 and below 9");
  EXPECT_EQ(refusal("weights=1,0"), "weights has 0: each must be above 0");
  expect_contains(refusal("tasks=copy,parrity"), "unknown name in tasks 'parrity'; did you mean 'parity'?");
  expect_contains(refusal("device=cuda:x"), "unknown device 'cuda:x'");
  expect_contains(refusal("init=fan-in"), "unknown init 'fan-in'; did you mean 'fan_in'?");
  Ranges ranges;
  expect_contains(help_text(list_fields(ranges)), "(one of auto, cpu, or cuda:N)");
  expect_contains(help_text(list_fields(ranges)), "(an integer or null, at least 1 and below 9)");
}

TEST(Config, PrintedConfigReadsBack) {
  TestConfig c;
  c.name = "a \"b\" \\ \n\x01 #: é";
  c.optim = {1.0 / 3, -5, std::nullopt};
  c.sources = {"yes", "null", "", "1"};
  c.lengths = {INT64_MIN, INT64_MAX};
  for (const std::string& name :
       {c.name, std::string("yes"), std::string("1"), std::string("plain/word-1.2"), std::string()}) {
    c.name = name;
    TestConfig back;
    read_yaml(list_fields(back), to_yaml(c), "printed");
    EXPECT_EQ(to_canonical_json(back), to_canonical_json(c)) << to_yaml(c);
    EXPECT_EQ(back.name, name);
    EXPECT_EQ(back.optim.lr, 1.0 / 3);
  }
}

TEST(Config, PrintsWhatPeopleExpect) {
  TestConfig c = from("name: darope\noptim: {lr: 1e-5, clip: 1e20}");
  EXPECT_EQ(to_yaml(c),
            "name: darope\nsteps: 10\ncompile: false\nnote: null\nsources: [\"a\", \"b c\"]\nlengths: []\n"
            "optim:\n  lr: 1.0e-05\n  warmup: 2000\n  clip: 1.0e+20\n"
            "checkpoint:\n  dump:\n    every: 100\n    keep: 2\nseed: 42\n");
  expect_contains(help_text(list_fields(c)),
                  "checkpoint.dump.every=100  steps between checkpoints (an integer)\n");
}

TEST(Config, CanonicalJsonIsJsonWithSortedKeys) {
  const std::string text = to_canonical_json(TestConfig{});
  const Json json = parse_json(text, "canonical");
  EXPECT_EQ(json.at("optim.lr"), 3e-3);
  EXPECT_EQ(json.at("sources").at(1), "b c");
  EXPECT_EQ(text.substr(0, 50), "{\"checkpoint.dump.every\":100,\"checkpoint.dump.keep");
}

TEST(Config, DifferencesNameBothValues) {
  const auto found = differences(from(""), from("optim: {lr: 1.0}\nname: other"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key + " " + found[0].before + " " + found[0].after, "name \"quick run\" other");
  EXPECT_EQ(found[1].key + " " + found[1].before + " " + found[1].after, "optim.lr 0.003 1.0");
  EXPECT_TRUE(differences(TestConfig{}, TestConfig{}).empty());
}

}  // namespace
}  // namespace darope
