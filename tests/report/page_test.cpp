#include <fmt/format.h>

#include <cmath>

#include "base/csv.h"
#include "planted.h"
#include "report/exports.h"
#include "report/report.h"
#include "report/results.h"
#include "report/text.h"
#include "runs/lock.h"

namespace darope::report {
namespace {

TEST(Report, WritesThePageAndTheResults) {
  const Comparison c;
  plant(c, "copy", steady, Json::object(), 4);
  plant(c, "riddle", guessing, Json::object(), 4);
  const Summary s = write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  EXPECT_LT(page.size(), 1'500'000u);
  for (const char* part :
       {"<h2>Verdict</h2>", "<h2>Ranking</h2>", "<h2>Dataset by dataset</h2>", "<h2>Score by length</h2>",
        "<h2>Training curves</h2>", "<h2>Cost</h2>", "<h2>What was run</h2>", "At this size", "riddle",
        "not learned", "Content-Security-Policy"})
    expect_contains(page, part);
  EXPECT_LT(page.find("<h2>Verdict"), page.find("<h2>Ranking"));
  expect_contains(page, "Scores: token accuracy in %, not chance-normalised.");
  expect_contains(page, "0: best constant answer, 100: perfect");
  expect_contains(page, "The paper's own test");
  expect_contains(page, "<small title='what the others are held against");
  const Json results = parse_json(read_file(c.path() / "results.json"), "results.json");
  EXPECT_EQ(results["schema"], 4);
  EXPECT_EQ(results["overall"][0]["not_learned"][0], "riddle");
  EXPECT_EQ(results["datasets"][0]["lengths"][0]["learned"], true);
  EXPECT_EQ(results["datasets"][1]["lengths"][0]["learned"], false);
  const Json& pair = results["datasets"][0]["lengths"][0]["pairs"][1];
  EXPECT_EQ(pair["first"], "darope");
  EXPECT_EQ(pair["second"], "nope");
  EXPECT_EQ(pair["verdict"], "better");
  EXPECT_EQ(pair["about"], "encodings");
  EXPECT_EQ(results["datasets"][0]["lengths"][0]["paper_test"].size(), 3u);
  EXPECT_EQ(results["overall"][0]["pairs"][1]["hangs_on"].size(), 0u);
  EXPECT_EQ(results["runs"].size(), 32u);
  expect_contains(results["rule"], "hold with 95 % confidence");
}

// As spreadsheets read them: a formula runs, a number does not.
TEST(CsvCell, FormulasAreTextAndNumbersStayNumbers) {
  for (const std::string formula :
       {"=1+1", "+E1", "-A2", "@SUM(A1)", "\t=1", "-1e", "+", "-1+cmd|' /C calc'!A0"})
    EXPECT_TRUE(csv_cell(formula).starts_with("\"'" + formula.substr(0, 1))) << formula;
  for (const std::string plain : {"-0.25", "+3", "-1e-07", "-inf", "rope:base=10000", "", "a-b"})
    EXPECT_EQ(csv_cell(plain), plain);
  EXPECT_EQ(csv_cell("a,\"b\""), "\"a,\"\"b\"\"\"");
}

// One task that is all or nothing: nobody is said to have learned it, and some runs solve it.
TEST(Report, RunsThatSolveWhatNobodyLearnedAreNamed) {
  const Comparison c;
  plant(
      c, "recall",
      [](const std::string& e, int64_t s, double x, int64_t i) {
        return e != "darope" && s == 1 ? 0.15 + steady("hope", s, x, i) : guessing(e, s, x, i);
      },
      Json::object(), 3);
  const Summary s = write_report(c.path(), {c.path()});
  ASSERT_FALSE(s.datasets.at(0).at(1)->learned);
  expect_contains(read_file(c.path() / "report.html"),
                  "1 of 3 runs of hope, nope and pope each are far ahead of the rest.");
}

// Losses as the paper's music has them: one off the scale. It must not press the others together.
TEST(Report, LossesArePicturesBesideThePapersNumbers) {
  const auto loss = [](const std::string& encoding, int64_t seed, double, int64_t i) {
    const double level = 0.45 + 0.05 * double(i % 5) + 0.0001 * double((seed + encoding.front()) % 3);
    if (encoding == "nope") return level + 0.71;
    if (encoding == "hope") return level + 0.004 + 0.001 * double(i % 3);
    return encoding == "pope" ? level - 0.024 + 0.001 * double(i % 3) : level;
  };
  const Comparison c;
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 4; ++seed) c.add("jsb", encoding, seed, "nll", {1}, loss);
  write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html"),
                    picture = page.substr(page.find("<h2>Test loss"), 6000);
  const auto row = [&](const std::string& encoding) {
    const size_t at = picture.find(">" + encoding + "</text>");
    return picture.substr(at, picture.find("</g>\n", at) - at);
  };
  expect_contains(row("nope"), "class='far'");
  expect_contains(row("nope"), "1.26");
  EXPECT_EQ(row("pope").substr(0, 300).find("class='far'"), std::string::npos);
  const std::string beside = page.substr(page.find("<h2>Beside the paper"), 3000);
  expect_contains(beside, "0.4547");  // figure seqmodel, DaRoPE on JSB
  expect_contains(beside, "1.1634");
}

// A loss has no floor in the runs' files, so nothing is said of what was learned.
TEST(Report, LossesAreNotCalledLearned) {
  const Comparison c;
  for (const char* dataset : {"jsb", "maestro"})
    for (const std::string& encoding : kEncodings)
      for (int64_t seed = 0; seed < 2; ++seed) c.add(dataset, encoding, seed, "nll", {1}, planted);
  const Summary s = write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  expect_contains(page, "This is over 2 datasets together");
  expect_contains(page, "Whether anything was learned is not judged of losses");
  EXPECT_EQ(page.find("learned dataset"), std::string::npos);
  EXPECT_TRUE(
      parse_json(read_file(c.path() / "results.json"), "results.json")["datasets"][0]["lengths"][0]["learned"]
          .is_null());
  expect_contains(results_csv(s), ",undecided,,\r\n");
}

// The commands need the page and the data alone: not the folders of whoever made it.
TEST(Report, EveryRunCanBeTrainedAgainFromThePage) {
  const Comparison c;
  plant(c, "copy");
  const auto config = [&](const std::string& encoding, int64_t seed, const std::string& data) {
    write_file(c.folder("copy", encoding, seed) / "config.yaml",
               fmt::format("name: copy-{0}\ndump_dir: \"/home/author/runs/copy-{0}\"\nseed: {1}\nmodel:\n  "
                           "encoding: {0}\n  seed: {1}\ndata:\n{2}",
                           encoding, seed, data));
  };
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < 2; ++seed) config(encoding, seed, "  task: copy\n  root_dir: \"\"\n");
  config("pope", 1, "  task: \"\"\n  root_dir: \"/home/author/data/my music/\"\n");
  config("hope", 1, "  task: copy\n  $(rm -rf ~): 1\n");
  write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  expect_contains(page, "<summary>copy.yaml: the config on copy (darope, seed 0)</summary>");
  expect_contains(page, ">darope train copy.yaml dump_dir=again<");
  expect_contains(page, ">darope train copy.yaml model.encoding=nope model.seed=1 seed=1 dump_dir=again<");
  expect_contains(
      page, ">darope train copy.yaml &#39;data.root_dir=data/my music&#39; data.task= model.encoding=pope");
  expect_contains(page, "&#39;data.$(rm -rf ~)=1&#39;");
  EXPECT_EQ(page.find("train /home"), std::string::npos);
}

TEST(Report, ThePapersAccountStandsBesideItsWholeSuite) {
  const Comparison few, suite;
  plant(few, "copy");
  for (int i = 0; i < 15; ++i)
    plant(suite, "task" + std::to_string(i), planted, {{"family", i < 3 ? "retrieval" : "regular"}});
  for (const Comparison* c : {&few, &suite}) write_report(c->path(), {c->path()});
  EXPECT_EQ(read_file(few.path() / "report.html").find("<h2>Beside the paper"), std::string::npos);
  const std::string page = read_file(suite.path() / "report.html");
  expect_contains(page.substr(page.find("<h2>Beside the paper")), "the only place where NoPE wins");
}

TEST(Report, HostileNamesStayText) {
  const std::string evil = "</script><script>alert('1')</script>",
                    quote = "a\"b'><img src=x onerror=alert(1)>\x1b[31m,\"";
  const Comparison c;
  for (const std::string& encoding : {std::string("darope"), evil})
    for (int64_t seed = 0; seed < 2; ++seed)
      c.add(quote, encoding, seed, "token_accuracy", {1, 2}, planted,
            {{"commit", evil}, {"machine", quote}, {"family", evil}});
  write_file(c.folder(quote, "darope", 0) / "config.yaml", evil);
  const Summary s = write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</script><script>a"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  expect_contains(page, "&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)");
  EXPECT_EQ(terminal_table(s).find('\x1b'), std::string::npos);
  expect_contains(results_csv(s), "\"a\"\"b'><img src=x onerror=alert(1)>\x1b[31m,\"\"\"");
}

TEST(Report, NamesHaveNoMeaningInTables) {
  const Comparison c;
  for (const std::string encoding : {"darope", "[2cm]^~*\\input{x};y", "![a_b](http://c.d) _`<e>`_ $f$|"})
    for (int64_t seed = 0; seed < 2; ++seed) c.add("*set", encoding, seed, "token_accuracy", {1, 2}, planted);
  const Scratch out;
  write_tables(out.path(), write_report(c.path(), {c.path()}));
  const std::string latex = read_file(out / "scores.tex"), csv = read_file(out / "scores.csv");
  const std::string markdown = read_file(out / "scores.md");
  expect_contains(markdown, "| \\*set | 1x | \\[2cm\\]^\\~\\*\\\\input{x};y |");
  expect_contains(markdown, "| !\\[a_b\\](http\\://c.d) \\_\\`&lt;e&gt;\\`\\_ \\$f\\$\\| |");
  expect_contains(latex, "{[}2cm]\\textasciicircum{}\\textasciitilde{}{*}\\textbackslash{}input\\{x\\};y");
  expect_contains(latex, "\n{*}set & ");
  expect_contains(csv, ",\"[2cm]^~*\\input{x};y\",");  // where ';' is what separates cells
}

// A metric's title and unit are a stranger's as well: everywhere the page says them.
TEST(Report, HostileMetricsStayText) {
  const std::string evil = "<b stranger>";
  const Json metric{{"name", "nll" + evil},
                    {"title", "t" + evil},
                    {"unit", "u" + evil},
                    {"meaning", evil},
                    {"higher_better", false},
                    {"baselines", {{evil, {{"1", 1.5}}}}},
                    {"axis", {{"name", "length" + evil}, {"unit", "x" + evil}, {"meaning", evil}}}};
  const Comparison c;
  for (const std::string encoding : {"rope", "nope", "darope"})
    for (int64_t seed = 0; seed < 4; ++seed) {
      c.add("d" + evil, encoding, seed, "nll", {}, planted,
            {{"schema", 2}, {"metrics", Json::array({metric})}, {"family", evil}, {"dtype", evil}});
      std::string lines;
      for (const double x : {1, 2})
        for (int64_t i = 0; i < 20; ++i)
          lines += to_line({"nll" + evil, "length" + evil, x, i, i, planted(encoding, seed, x, i)});
      write_file(c.folder("d" + evil, encoding, seed) / "results.jsonl", lines);
    }
  write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  EXPECT_EQ(page.find(evil), std::string::npos);
  expect_contains(page, "Scores: t&lt;b stranger&gt; in u&lt;b stranger&gt;");
}

TEST(Report, IsWrittenByOneAtATime) {
  const Comparison c;
  plant(c, "copy");
  const Lock another(ComparisonFolder(c.path()).report_lock(), "writing the report");
  expect_contains(error_of([&] { write_report(c.path(), {c.path()}); }), "has been writing the report since");
  EXPECT_FALSE(std::filesystem::exists(c.path() / "report.html"));
}

TEST(Report, PicturesAndTablesAreFilesToo) {
  const Comparison c;
  plant(c, "copy_100%", steady, Json::object(), 4);
  const Summary s = summarise(gather({c.path()}), {});
  write_figures(c.path() / "figures", s);
  write_tables(c.path() / "tables", s);
  const std::string picture = read_file(c.path() / "figures" / "copy_100_-1x.svg");
  expect_contains(picture, "xmlns='http://www.w3.org/2000/svg'");
  expect_contains(picture, "--s0:#0072b2");
  EXPECT_TRUE(std::filesystem::exists(c.path() / "figures" / "overall-token_accuracy-2x.svg"));
  expect_contains(read_file(c.path() / "tables" / "pairs.csv"), "copy_100%,1x,darope,nope,better,+");
  expect_contains(read_file(c.path() / "tables" / "pairs.md"),
                  "| copy_100% | 1x | darope | nope | better | +");
  expect_contains(read_file(c.path() / "tables" / "pairs.tex"),
                  "copy\\_100\\% & 1x & darope & nope & better & +");
  expect_contains(read_file(c.path() / "tables" / "scores.csv"), "copy_100%,1x,hope,4,69.0,0.0");
}

TEST(Report, LanguageModelsOfThePapersSizesStandBesideItsPerplexities) {
  const Comparison c;
  const auto add = [&](const char* dataset, const char* encoding, int64_t parameters, double loss) {
    c.add(dataset, encoding, 0, "nll", {1}, [=](auto&&...) { return loss; },
          {{"family", "text"}, {"parameters", parameters}});
  };
  add("wiki", "hope", 162'147'072, std::log(20));
  add("wiki", "darope", 162'257'808, std::log(19.5));
  add("small", "hope", 32'551'168, std::log(40));
  add("small", "darope", 32'600'000, std::log(41));
  write_report(c.path(), {c.path()});
  const std::string page = read_file(c.path() / "report.html");
  expect_contains(page, "<td>124M</td><td>hope</td>");
  const std::string of_hope = page.substr(page.find("<td>124M</td><td>hope</td>"), 200);
  expect_contains(of_hope, ">20.00<");
  expect_contains(of_hope, ">18.94<");
  const std::string of_darope = page.substr(page.find("<td>124M</td><td>darope</td>"), 200);
  expect_contains(of_darope, ">19.50<");
  expect_contains(of_darope, ">18.95<");
  const std::string of_small = page.substr(page.find("<td>–</td><td>darope</td>"), 200);
  expect_contains(of_small, ">41.00<");
  expect_contains(of_small, "<td>–</td></tr>");
}

TEST(Report, RefusalLeavesTheOldReport) {
  const Comparison c;
  plant(c, "copy");
  write_report(c.path(), {c.path()});
  const std::string before = read_file(c.path() / "report.html");
  c.add("copy", "rope", 1, "token_accuracy", {1, 2}, planted, {{"data_order", "another"}});
  EXPECT_THROW(write_report(c.path(), {c.path()}), Error);
  EXPECT_EQ(read_file(c.path() / "report.html"), before);
}

TEST(Report, AFullSuiteStaysSmall) {
  const Comparison c;
  for (int dataset = 0; dataset < 20; ++dataset)
    for (int encoding = 0; encoding < 10; ++encoding)
      for (int64_t seed = 0; seed < 3; ++seed)
        c.add("a_rather_long_task_name_" + std::to_string(dataset),
              "rope:base=" + std::to_string(10000 + encoding), seed, "token_accuracy", {1, 2, 8}, planted,
              Json::object(), 4);
  write_report(c.path(), {c.path()});
  EXPECT_LT(size_of_file(c.path() / "report.html"), 1'500'000);
}

TEST(Report, OneEncodingOrOneSeedStillMakesAPage) {
  const Comparison c;
  c.add("copy", "nope", 0, "token_accuracy", {1}, planted);
  const Summary s = write_report(c.path(), {c.path()});
  EXPECT_EQ(s.reference, "nope");
  expect_contains(terminal_table(s), "fewer than two encodings can be compared");
  c.add("copy", "hope", 0, "token_accuracy", {1}, planted);
  const std::string caveat = "With one seed, what is said is about these trained models alone";
  expect_contains(terminal_table(write_report(c.path(), {c.path()})), caveat);
  expect_contains(read_file(c.path() / "report.html"), caveat);
  expect_contains(read_file(c.path() / "report.html"), "better than nope");
  const Comparison two;
  plant(two, "copy");
  EXPECT_EQ(terminal_table(write_report(two.path(), {two.path()})).find("With one seed"), std::string::npos);
}

}  // namespace
}  // namespace darope::report
