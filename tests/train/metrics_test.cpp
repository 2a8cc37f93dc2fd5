#include "runs/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "scratch.h"

namespace darope {

TEST(Metrics, WritesLinesInOrder) {
  const Scratch run;
  MetricsLog log(run / "metrics.jsonl", std::nullopt);
  log.write({{"global_step", 1}, {"loss/out", 2.5}, {"created_at", "2030-01-01T00:00:00Z"}});
  EXPECT_EQ(read_file(run / "metrics.jsonl"),
            "{\"global_step\":1,\"loss/out\":2.5,\"created_at\":\"2030-01-01T00:00:00Z\"}\n");
}

TEST(Metrics, NonFiniteValuesAreNull) {
  const Scratch run;
  MetricsLog log(run / "metrics.jsonl", std::nullopt);
  log.write(
      {{"global_step", 1}, {"loss/out", std::nan("")}, {"optim/grad_norm", -INFINITY}, {"optim/lr", 0.5}});
  const Json line = parse_json(read_file(run / "metrics.jsonl"), "metrics");
  EXPECT_EQ(line, Json({{"global_step", 1},
                        {"loss/out", nullptr},
                        {"optim/grad_norm", nullptr},
                        {"optim/lr", 0.5},
                        {"nonfinite", true}}));
}

TEST(Metrics, ResumeCutsBackToTheCheckpoint) {
  const Scratch run;
  const std::string kept = "{\"global_step\":1}\n{\"note\":\"no step\"}\n{\"global_step\":2}\n";
  const auto resumed = [&](const std::string& text, std::optional<int64_t> step) {
    write_file(run / "metrics.jsonl", text);
    MetricsLog(run / "metrics.jsonl", step).write({{"global_step", 9}});
    return read_file(run / "metrics.jsonl");
  };
  const std::string nine = "{\"global_step\":9}\n";
  EXPECT_EQ(resumed(kept, 2), kept + nine);
  EXPECT_EQ(resumed(kept + "{\"global_step\":3}\n{\"global_step\":4}\n", 2), kept + nine);
  EXPECT_EQ(resumed(kept + "{\"global_step\":3}\n{\"global_s", 2), kept + nine);
  EXPECT_EQ(resumed(kept + "{\"global_step\":2", 2), kept + nine);
  EXPECT_EQ(resumed(kept + "{\"global_step\":2}", 2),
            kept + nine);  // whole but for its end of line: the next line would join it
  EXPECT_EQ(resumed(kept, 0), "{\"note\":\"no step\"}\n" + nine);
  EXPECT_EQ(resumed("", 5), nine);
  MetricsLog(run / "absent.jsonl", 5).write({{"global_step", 9}});
  EXPECT_EQ(read_file(run / "absent.jsonl"), nine);
}

TEST(Metrics, DamagedLinesAreNamedAndKeptBeside) {
  const Scratch run;
  const std::string file = (run / "metrics.jsonl").string(), good = "{\"global_step\":1}\n";
  const std::string texts[] = {good + "{\"global_st#p\":2\n" + good, good + std::string("\0\0\n", 3) + good,
                               good + "[1]\n" + good, good + "{\"global_step\":\"2\"}\n" + good};
  for (size_t i = 0; i < std::size(texts); ++i) {
    write_file(file, texts[i]);
    testing::internal::CaptureStderr();
    MetricsLog(file, 5).write({{"global_step", 9}});
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string beside = file + (i == 0 ? ".damaged" : ".damaged-" + std::to_string(i + 1));
    expect_contains(said, "one line is damaged (line 2)");
    expect_contains(said, beside);
    EXPECT_EQ(read_file(file), good + good + "{\"global_step\":9}\n");
    EXPECT_EQ(read_file(beside), texts[i]);
  }
  write_file(file, good + "{\"global_s");  // torn by a kill: nothing is lost that was whole
  testing::internal::CaptureStderr();
  MetricsLog(file, 5).write({{"global_step", 9}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace darope
