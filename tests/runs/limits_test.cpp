#include "base/seal.h"
#include "planted.h"
#include "runs/finished_run.h"
#include "runs/runs.h"

namespace darope {
namespace {

using report::Comparison;

Json read(const std::filesystem::path& file) { return parse_json(read_file(file), file.string()); }

// The folder of a run whose facts say something else.
struct Changed {
  Comparison in;
  std::filesystem::path folder = in.folder("copy", "rope", 0);
  std::string refusal(const Json& facts) const {
    in.add("copy", "rope", 0, "token_accuracy", {1}, report::planted, facts);
    return error_of([&] { read_finished(read_run_files(folder)); });
  }
};

TEST(Limits, NamesOfARunHaveAnEnd) {
  const Changed run;
  for (const char* key : {"dataset", "family", "commit", "machine", "torch", "dtype", "shared_init",
                          "data_order", "config_without_encoding", "evaluation"}) {
    expect_contains(run.refusal({{key, std::string(300, 'x')}}),
                    std::string("'") + key + "' has 300 bytes, more than the 256 it may have");
    EXPECT_EQ(run.refusal({{key, std::string(256, 'x')}}), "") << key;
  }
  EXPECT_EQ(run.refusal({{"encoding", std::string(1024, 'x')}}), "");
  expect_contains(run.refusal({{"encoding", std::string(2000, 'x')}}), "'encoding' has 2000 bytes");
  expect_contains(run.refusal({{"history", std::string(70'000, 'x')}}), "'history' has 70000 bytes");
}

Json metric_with(const Json& changes) {
  Json metric{{"name", "nll"}, {"axis", {{"name", "position"}}}, {"higher_better", false}};
  metric.merge_patch(changes);
  return metric;
}

TEST(Limits, NamesOfMetricsHaveAnEnd) {
  const auto refusal = [](const Json& list) { return error_of([&] { read_metrics(list, "run.json"); }); };
  const std::string name(300, 'x'), text(2000, 'x');
  EXPECT_EQ(refusal(Json::array({metric_with(Json::object())})), "");
  for (const Json& changes :
       {Json{{"name", name}}, Json{{"unit", name}}, Json{{"title", text}}, Json{{"meaning", text}},
        Json{{"axis", {{"name", name}}}}, Json{{"axis", {{"unit", name}}}},
        Json{{"axis", {{"meaning", text}}}}, Json{{"axis", {{"mark_meaning", text}}}},
        Json{{"baselines", {{name, {{"1", 2}}}}}}})
    expect_contains(refusal(Json::array({metric_with(changes)})), "more than the ");
  expect_contains(refusal(Json(300, metric_with(Json::object()))), "more than 256 metrics");
  Json places, baselines;
  for (int i = 0; i < 20000; ++i) places[std::to_string(i)] = 0.5;
  for (int i = 0; i < 20; ++i) baselines["b" + std::to_string(i)] = {{"1", 2}};
  expect_contains(refusal(Json::array({metric_with({{"floor", places}})})), "more than 16384 places");
  expect_contains(refusal(Json::array({metric_with({{"baselines", baselines}})})), "more than 16 baselines");
}

TEST(Limits, PlacesOfAMetricHaveAnEnd) {
  std::string lines;
  for (int i = 0; i < 16384; ++i) lines += to_line({.metric = "nll", .axis = "position", .at = double(i)});
  EXPECT_EQ(read_scores(lines, "a").begin()->second.size(), 16384u);
  lines += to_line({.metric = "nll", .axis = "position", .at = 16384});
  expect_contains(error_of([&] { read_scores(lines, "a"); }), "more than 16384 places");
}

TEST(Limits, ScoresHaveABound) {
  const std::string fine = to_line({.metric = "nll", .value = -1e15});
  EXPECT_EQ(error_of([&] { read_scores(fine, "a"); }), "");
  const std::string beyond = fine + to_line({.metric = "nll", .example = 1, .value = 1e16});
  expect_contains(error_of([&] { read_scores(beyond, "a"); }), "a line 2: 'value' is 1e+16");
}

// Nobody's report reads what a stranger listed: only what a run could have written.
TEST(Limits, NoOtherFilesAreHashedThanThoseOfARun) {
  const Comparison in;
  in.add("copy", "rope", 0, "token_accuracy", {1}, report::planted);
  const RunFolder run(in.folder("copy", "rope", 0));
  write_finished(run, read_finished(read_run_files(run)));
  EXPECT_EQ(error_of([&] { read_run_files(run); }), "");
  const Json facts = read(run.facts());
  const auto refusal = [&](const std::string& listed) {
    nlohmann::ordered_json changed = facts;
    changed["files"][listed] = std::string(64, '0');
    seal(changed);
    write_file(run.facts(), changed.dump());
    return error_of([&] { read_run_files(run); });
  };
  for (const char* name : {"../../../etc/passwd", "/etc/passwd", "secret.txt", "", ".", "checkpoints/..",
                           "tb/../secret.txt", "checkpoints/0000000008/model.safetensors", "evals/a"})
    expect_contains(refusal(name), "is no file that a run writes");
  for (const char* name : {"train.log", "tb/events.out.tfevents.1", "checkpoints/0000000008/MANIFEST.json",
                           "best/0000000008/MANIFEST.json"})
    EXPECT_EQ(refusal(name), "") << name;  // gone, which is nobody's loss
  write_file(run.log(), "another");
  expect_contains(refusal("train.log"), "train.log is not what the run wrote");
}

}  // namespace
}  // namespace darope
