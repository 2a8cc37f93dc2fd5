#include <fmt/format.h>

#include <map>
#include <sstream>

#include "planted.h"
#include "report/power.h"
#include "report/report.h"
#include "report/results.h"
#include "report/text.h"

namespace darope::report {
namespace {

// Losses about a level, the same differences in every example and hardly another one in every run.
Comparison::Score losses(std::map<std::string, double> levels) {
  return [levels = std::move(levels)](const std::string& encoding, int64_t seed, double, int64_t i) {
    return levels.at(encoding) + 0.05 * double(i % 5) + 0.0001 * Random(uint64_t(seed), encoding).normal();
  };
}

void plant_losses(const Comparison& to, const std::map<std::string, double>& levels, const Json& metric = {},
                  int64_t sources = 40) {
  for (const auto& [encoding, level] : levels)
    for (int64_t seed = 0; seed < 4; ++seed) {
      to.add("own", encoding, seed, "nll", {1}, losses(levels));
      if (metric.is_null()) continue;
      Json run = parse_json(read_file(to.folder("own", encoding, seed) / "run.json"), "run.json");
      run["schema"] = 2;
      run["metrics"] = Json::array({metric});
      std::string lines;
      for (int64_t i = 0; i < 40; ++i)
        lines += to_line({"nll", "length", 1, i, i * sources / 40, losses(levels)(encoding, seed, 1, i)});
      write_file(to.folder("own", encoding, seed) / "run.json", run.dump());
      write_file(to.folder("own", encoding, seed) / "results.jsonl", lines);
    }
}

Json nll(double bigram) {
  return {{"name", "nll"},
          {"title", "loss"},
          {"unit", "nats per token"},
          {"meaning", "of the next token"},
          {"higher_better", false},
          {"baselines", {{"unigram", {{"1", 9.0}}}, {"bigram", {{"1", bigram}}}}},
          {"axis", {{"name", "length"}, {"unit", "x"}, {"meaning", "of training"}}}};
}

TEST(Words, SayWhoLeadsAndWhatIsOpen) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  const Summary s = summarise(gather({c.path()}), {});
  const std::string text = terminal_table(s);
  expect_contains(
      text,
      "At this size, pope, hope and darope are better than nope at the training length. pope has the "
      "best mean, but darope and hope may be as good or better.");
  expect_contains(text, "seeds in all would tell them apart.");
  expect_contains(text,
                  "copy 1x: nope and pope are unsteady: from seed to seed their scores go their own way");
  expect_contains(text, "69.0");
  Summary large = s;
  large.parameters = 1'000'000'000;
  EXPECT_EQ(terminal_table(large).find("this size"), std::string::npos);
}

TEST(Words, NameTheDatasetAVerdictHangsOn) {
  const Comparison c;
  for (const char* name : {"copy", "sort", "shift"})
    plant(
        c, name,
        [](const std::string& e, int64_t s, double x, int64_t i) {
          return steady("hope", s + int64_t(e.size()), x, i);
        },
        Json::object(), 4);
  plant(
      c, "recall",
      [](const std::string& e, int64_t s, double x, int64_t i) {
        return steady("hope", s + int64_t(e.size()), x, i) - (e == "darope" ? 0 : 0.2);
      },
      Json::object(), 4);
  const std::string text = terminal_table(summarise(gather({c.path()}), {}));
  expect_contains(text,
                  "darope leads at the training length: better than hope, nope and pope. Without recall, the "
                  "verdict on hope, nope and pope would be another. Its lead over the others is one on these "
                  "datasets; for others of the kind it is open.");
}

TEST(Words, DifferencesAreRoundedOnce) {
  EXPECT_EQ(difference_text(0.0149, true), "+1.5");
  EXPECT_EQ(difference_text(-3.63e-18, true), "0.0");
  EXPECT_EQ(difference_text(-0.00004, false), "0.0000");
  EXPECT_EQ(difference_text(-0.00123, false), "-0.0012");
}

TEST(Words, SayWhereOneDatasetAloneWasLearned) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 4);
  EXPECT_EQ(terminal_table(summarise(gather({c.path()}), {})).find("alone"), std::string::npos);
  plant(c, "riddle", guessing, Json::object(), 4);
  expect_contains(terminal_table(summarise(gather({c.path()}), {})),
                  "This is on copy alone, the only dataset learned there.");
}

TEST(Words, SayHowFarTheModelsOfDatasetsDiffer) {
  const Comparison c;
  plant(c, "copy");
  c.add("copy", "pope", 0, "token_accuracy", {1, 2}, planted,
        {{"parameters", 990}});  // an encoding's own share is no other size
  expect_contains(setting_in_words(summarise(gather({c.path()}), {})), "models of 1000 parameters");
  plant(c, "sort", planted, {{"parameters", 2'000'000}});
  expect_contains(setting_in_words(summarise(gather({c.path()}), {})),
                  "models of 1000 to 2 million parameters");
}

TEST(Words, CallNoWinnerAmongModelsWorseThanCounting) {
  const Comparison worse, better;
  plant_losses(worse, {{"nope", 3.2}, {"rope", 2.9}}, nll(2.5));
  plant_losses(better, {{"nope", 3.2}, {"rope", 2.3}}, nll(2.5));
  const std::string text = terminal_table(summarise(gather({worse.path()}), {}));
  expect_contains(
      text,
      "At this size there is no winner at the training length: counting alone (bigram 2.5000) does "
      "better than every model. More steps or a larger model come before more seeds. Of these "
      "models, rope leads: better than nope.");
  EXPECT_EQ(terminal_table(summarise(gather({better.path()}), {})).find("counting alone ("),
            std::string::npos);
}

TEST(Words, SayNoMoreThanIsKnown) {
  const Comparison c;
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 3; ++seed)
      c.add("own", encoding, seed, "nll", {1}, [](const std::string& e, int64_t s, double, int64_t i) {
        return 2 + 0.05 * double(i % 5) + 0.1 * Random(uint64_t(s), e).normal();
      });
  expect_contains(terminal_table(summarise(gather({c.path()}), {})),
                  "At this size, no encoding is told from another at the training length: ");
}

// Over all its seeds one encoding looks best, over those that both have another: each is said of its own.
TEST(Words, SayWhatMeansAreOverWhereSeedsDiffer) {
  const Comparison c;
  const auto add = [&](const std::string& encoding, int64_t seed, double loss) {
    c.add("own", encoding, seed, "nll", {1}, [=](const std::string&, int64_t, double, int64_t i) {
      return loss + 0.01 * double((i * (seed + 2)) % 7);
    });
  };
  for (int64_t seed = 0; seed < 5; ++seed) add("rope", seed, seed < 2 ? 2.0 : 1.0);
  for (int64_t seed = 0; seed < 2; ++seed) add("nope", seed, 1.99);
  const std::string text = terminal_table(summarise(gather({c.path()}), {}));
  expect_contains(text, "nope has the best mean over the seeds that they share, but rope may be as good");
  expect_contains(text, "On own encodings have different seeds: tables and pictures have means over all");
}

TEST(Words, SayWhyNoDatasetHasAVerdictOverAll) {
  const Comparison c;
  for (const char* encoding : {"rope", "nope"})
    for (int64_t seed = 0; seed < 2; ++seed)
      c.add(encoding == std::string("rope") ? "one" : "two", encoding, seed, "token_accuracy", {1}, planted);
  for (const char* dataset : {"one", "two"})
    for (int64_t seed = 0; seed < 2; ++seed) c.add(dataset, "hope", seed, "token_accuracy", {1}, planted);
  const Summary s = write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html"),
                    why = "none of the 2 datasets was run with every encoding. Only hope was run on each of";
  expect_contains(terminal_table(s), why);
  expect_contains(page, why);
  EXPECT_EQ(page.find("margin ()"), std::string::npos);
  expect_contains(page, "margin (1 points of 100)");
}

TEST(Words, SayThatSourcesAreFew) {
  const Comparison few, many;
  plant_losses(many, {{"nope", 2.2}, {"rope", 2.1}}, nll(2.5));
  plant_losses(few, {{"nope", 2.2}, {"rope", 2.1}}, nll(2.5), 4);
  const std::string caution = "The test of own comes from 4 sources alone";
  expect_contains(terminal_table(summarise(gather({few.path()}), {})), caution);
  EXPECT_EQ(terminal_table(summarise(gather({many.path()}), {})).find("sources alone"), std::string::npos);
}

TEST(Words, ScoresOfTheBestWeightsStandBesideTheLast) {
  const Comparison c;
  plant_losses(c, {{"nope", 2.2}, {"rope", 2.1}});
  for (int64_t seed = 0; seed < 4; ++seed)  // as if rope's best had been nope's last
    write_file(c.folder("own", "rope", seed) / "results-best.jsonl",
               read_file(c.folder("own", "nope", seed) / "results.jsonl"));
  const Summary s = write_report(c.path(), {c.path()});
  const Cell& nope = s.datasets.at(0).lengths.at(0).cells.at(0);
  const std::string best = fmt::format("rope {:.4f}", *nope.mean);
  expect_contains(terminal_table(s), "weights that did best in validation, on own: " + best + "\n");
  expect_contains(read_file(c.path() / "report.html"), "Weights that did best in validation: " + best + ".");
}

TEST(Words, FoldToTheTerminal) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 6);
  const Summary s = summarise(gather({c.path()}), {});
  for (const std::string& text : {terminal_table(s, 60), terminal_power(powers(gather({c.path()}), s), 60)}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
  }
}

// A pair that seeds reach and one that they do not: both are told, with what keeps the second.
TEST(Power, TellsPairsInReachFromThoseThatAreNot) {
  const Comparison c;
  for (const std::string encoding : {"nope", "rope", "hope"})
    for (int64_t seed = 0; seed < 3; ++seed)
      c.add("own", encoding, seed, "nll", {1}, [](const std::string& e, int64_t s, double, int64_t i) {
        const double run = 0.004 * Random(uint64_t(s), e).normal();
        return 2 + run + (e == "hope" ? 0.3 * Random(uint64_t(i), "example").normal() : 0);
      });
  const Gathered all = gather({c.path()});
  Options options;
  options.margin = 0.004;
  const std::vector<Power> rows = powers(all, summarise(all, options));
  const Power::For& margin = rows.at(0).differences.at(1);
  ASSERT_EQ(margin.open.size(), 3u);
  EXPECT_EQ(margin.out_of_reach.size(), 2u);
  EXPECT_GT(margin.seeds, 3u);
  const std::string text = terminal_power(rows);
  expect_contains(text, fmt::format("about {} seeds in all, ", margin.seeds));
  expect_contains(text, "for 1 of 3 open pairs; the others are out of reach");
  expect_contains(text, "with a thousand of them the test is too small for so small a difference. A larger");
}

TEST(Power, DifferencesThatTakeTheSameShareALine) {
  const Comparison c;
  for (const std::string encoding : {"nope", "rope"})
    for (int64_t seed = 0; seed < 3; ++seed)
      c.add("own", encoding, seed, "nll", {1}, [](const std::string& e, int64_t, double, int64_t i) {
        return 2 + (e == "nope" ? 0.5 * Random(uint64_t(i), "example").normal() : 0);
      });
  const Gathered all = gather({c.path()});
  expect_contains(terminal_power(powers(all, summarise(all, {}))), "0.001 to 0.004: out of reach of seeds\n");
}

TEST(Csv, IntervalsOfLossesAreThere) {
  const Comparison c;
  plant_losses(c, {{"nope", 2.2}, {"rope", 2.1}});
  const Summary s = summarise(gather({c.path()}), {});
  const Cell& cell = s.datasets.at(0).lengths.at(0).cells.at(0);
  expect_contains(results_csv(s), fmt::format("{:.10g},{:.10g},{:.10g},", *cell.mean,
                                              *cell.mean - *cell.half_width, *cell.mean + *cell.half_width));
}

}  // namespace
}  // namespace darope::report
