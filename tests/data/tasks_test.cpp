#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "data/tasks/expression.h"
#include "data/tasks/task.h"

namespace darope {
namespace {

struct Worked {
  std::string prompt, answer;
};

std::string solve(const std::string& prompt) {
  const size_t colon = prompt.find(':');
  for (const Task& task : all_tasks())
    if (task.prefix == prompt.substr(0, colon)) return task.solve(std::string_view(prompt).substr(colon + 1));
  return "no such prefix";
}

TEST(Tasks, SolveThePapersExamples) {
  const std::vector<Worked> paper = {
      {"EP:01110011", "1"},       {"P:01110011", "1"},         {"CY:11220022", "2"},
      {"MA:2-3*0+4", "1"},        {"R:45790189", "98109754"},  {"ST:11102442", "1111"},
      {"MB:(-2+(3))", "1"},       {"EQ:(2+-x)=4", "3"},        {"D:45790189", "4579018945790189"},
      {"MD:21110111", "0"},       {"OF:45790189", "59194708"}, {"BA:111+0111", "10101"},
      {"S:45790189", "01457899"}, {"BM:111*0111", "0100011"},  {"SQ:11110011", "1111"},
      {"N:45790189", "00000001"}, {"I:55791289", "05000001"},  {"FO:3141592#0003", "5"},
      {"DK:a3b7a9c1?a", "9"},     {"AR:a3b7c1?b", "7"}};
  ASSERT_EQ(paper.size(), all_tasks().size());
  for (const Worked& each : paper) EXPECT_EQ(solve(each.prompt), each.answer) << each.prompt;
}

TEST(Tasks, SolveTheWorkedCasesOfTheChomskyHierarchySuite) {
  const std::vector<Worked> cases = {{"EP:001110", "0"},
                                     {"EP:0101001", "1"},
                                     {"P:1010100", "1"},
                                     {"P:01111", "0"},
                                     {"CY:20100", "3"},
                                     {"CY:2220", "2"},
                                     {"MA:1+2*3", "2"},
                                     {"MA:1-1-1", "4"},
                                     {"MA:0*1+4*3-2", "0"},
                                     {"R:011010", "010110"},
                                     {"ST:0110422", "110"},
                                     {"ST:110222", ""},
                                     {"MD:01100210", "1"},
                                     {"MD:1011213", "0"},
                                     {"OF:110", "110"},
                                     {"BA:001+01101", "01011"},
                                     {"BA:1001+000001", "100101"},
                                     {"BM:001*01101", "0001101"},
                                     {"BM:1001*000001", "000001001"},
                                     {"SQ:100101", "110"},
                                     {"SQ:111", "10"}};
  for (const Worked& each : cases) EXPECT_EQ(solve(each.prompt), each.answer) << each.prompt;
}

TEST(Tasks, SolveNumbersLongerThanAMachineWord) {
  const std::string ones(200, '1'), zeros(200, '0');
  EXPECT_EQ(solve("BA:" + ones + "+1"), zeros + "1");                         // 2^200 - 1 + 1
  EXPECT_EQ(solve("BM:" + zeros + "1*" + zeros + "1"), zeros + zeros + "1");  // 2^200 squared
  EXPECT_EQ(solve("SQ:1" + zeros + zeros), "1" + zeros);                      // and back
  EXPECT_EQ(solve("SQ:" + ones + ones), ones);  // the root of 2^400 - 1 rounds down
  EXPECT_EQ(solve("SQ:" + zeros + "1001"), std::string(100, '0') + "11");
}

TEST(Tasks, EveryTaskKnowsItsRow) {
  int64_t headline = 0;
  std::map<Family, int> families;
  for (const Task& task : all_tasks()) {
    headline += task.headline;
    ++families[task.family];
    EXPECT_EQ(&find_task(task.name), &task);
    EXPECT_GT(task.chance, 0);
    EXPECT_LE(task.chance, task.true_chance) << task.name;
  }
  EXPECT_EQ(headline, 15);
  EXPECT_EQ(families, (std::map<Family, int>{{Family::regular, 4},
                                             {Family::context_free, 4},
                                             {Family::context_sensitive, 7},
                                             {Family::retrieval, 2},
                                             {Family::positional, 3}}));
}

TEST(Tasks, UnknownNamesSuggestTheNearest) {
  try {
    find_task("bucketsort");
    FAIL() << "an unknown task was found";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'bucket_sort'?"), std::string::npos) << e.what();
    EXPECT_EQ(e.code(), kUsage);
  }
}

// The largest bodies that fit 256, 512 and 2048 bytes.
TEST(Tasks, FitTheContext) {
  const std::map<std::string_view, std::vector<int64_t>> expected = {
      {"even_pairs", {250, 506, 2042}},
      {"parity", {251, 507, 2043}},
      {"cycle_navigation", {250, 506, 2042}},
      {"modular_arithmetic", {250, 506, 2042}},
      {"reverse_string", {126, 254, 1022}},
      {"stack_manipulation", {125, 253, 1021}},
      {"modular_arithmetic_brackets", {250, 506, 2042}},
      {"solve_equation", {250, 506, 2042}},
      {"duplicate_string", {84, 169, 681}},
      {"missing_duplicate_string", {250, 506, 2042}},
      {"odds_first", {125, 253, 1021}},
      {"binary_addition", {125, 253, 1021}},
      {"bucket_sort", {126, 254, 1022}},
      {"binary_multiplication", {125, 253, 1021}},
      {"compute_sqrt", {167, 338, 1362}},
      {"needle", {126, 254, 1022}},
      {"induction", {126, 254, 1022}},
      {"fixed_offset", {245, 501, 2037}},
      {"dup_key_recall", {124, 252, 1020}},
      {"assoc_recall", {124, 252, 1020}}};
  ASSERT_EQ(expected.size(), all_tasks().size());
  for (const Task& task : all_tasks())
    EXPECT_EQ((std::vector<int64_t>{n_max(task, 256), n_max(task, 512), n_max(task, 2048)}),
              expected.at(task.name))
        << task.name;
}

TEST(Tasks, SamplesNeverOutgrowTheirBoundAndTheBoundIsReached) {
  for (const Task& task : all_tasks()) {
    int64_t longest = 0;
    for (uint64_t i = 0; i < 300; ++i) {
      Random random(7, "bound", i);
      longest = std::max(longest, int64_t(render(sample(task, random, 12)).size()));
    }
    EXPECT_LE(longest, rendered_length(task, 12)) << task.name;
    EXPECT_GE(longest, rendered_length(task, 12) - 2) << task.name;  // sums seldom carry into their last bit
  }
}

TEST(Tasks, RenderWithSeparatorAndTerminator) { EXPECT_EQ(render({"R:457", "754"}), "R:457>754\n"); }

TEST(Tasks, ShortestAndForbiddenLengths) {
  for (const Task& task : all_tasks()) {
    Random random(1, "short");
    EXPECT_EQ(sample(task, random, task.min_n).prompt.substr(0, task.prefix.size() + 1),
              std::string(task.prefix) + ":");
    EXPECT_THROW(sample(task, random, task.min_n - 1), Error) << task.name;
    EXPECT_THROW(n_max(task, rendered_length(task, task.min_n) - 1), Error) << task.name;
    EXPECT_EQ(n_max(task, rendered_length(task, task.min_n)), task.min_n) << task.name;
  }
  Random random(1, "long");
  EXPECT_EQ(sample(find_task("fixed_offset"), random, 9999).prompt.size(), 3u + 9999 + 5);
  EXPECT_THROW(sample(find_task("fixed_offset"), random, 10000), Error);
  EXPECT_EQ(n_max(find_task("fixed_offset"), 1 << 20), 9999);
}

TEST(Tasks, LengthsAreRoundedDownWhereTheTaskNeedsIt) {
  for (int64_t n = 2; n < 40; ++n) {
    Random random(3, "round", uint64_t(n));
    EXPECT_EQ(int64_t(sample(find_task("modular_arithmetic"), random, n).prompt.size()),
              3 + (n % 2 ? n : n - 1));
    EXPECT_EQ(int64_t(sample(find_task("missing_duplicate_string"), random, n).prompt.size()), 3 + n - n % 2);
    EXPECT_EQ(int64_t(sample(find_task("modular_arithmetic_brackets"), random, n).prompt.size()), 3 + n);
  }
}

// At n = 2 a stack of one bit is popped a third of the time: those samples must come back with another
// action.
TEST(Tasks, EmptyAnswersAreDrawnAgain) {
  const Task& task = find_task("stack_manipulation");
  int64_t raw_empty = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    Random raw(5, "empty", i), random(5, "empty", i);
    raw_empty += task.solve(task.body(raw, 2)).empty();
    EXPECT_EQ(sample(task, random, 2).answer.size(), 2u);
  }
  EXPECT_GT(raw_empty, 60);
  EXPECT_LT(raw_empty, 140);
}

TEST(Tasks, RecallAsksForAKeyOfTheRightMultiplicity) {
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(9, "keys", i);
    const int64_t n = random.between(2, 60);
    for (const auto& [name, times] : {std::pair{"dup_key_recall", 2}, std::pair{"assoc_recall", 1}}) {
      const std::string prompt = sample(find_task(name), random, n).prompt;
      std::string values;
      for (size_t k = 3; k + 2 < prompt.size(); k += 2)
        if (prompt[k] == prompt.back()) values += prompt[k + 1];
      ASSERT_EQ(int(values.size()), times) << prompt;
      if (times == 2) {
        ASSERT_NE(values[0], values[1]) << prompt;
      }
    }
  }
}

TEST(Tasks, BestConstantAnswer) {
  EXPECT_DOUBLE_EQ(best_constant({{"N:11", "01"}, {"N:111", "011"}}), 0.6);
  EXPECT_DOUBLE_EQ(best_constant({{"P:1", "1"}}), 1.0);
  EXPECT_THROW(best_constant({}), Error);
  std::vector<Example> needles;
  for (uint64_t i = 0; i < 200; ++i) {
    Random random(1, "needles", i);
    needles.push_back(sample(find_task("needle"), random, 200));
  }
  EXPECT_NEAR(best_constant(needles), 190.0 / 200, 0.001);  // ten first occurrences, ones everywhere else
}

TEST(Expressions, BindAsArithmeticDoes) {
  EXPECT_EQ(evaluate("4-3-2").constant, 4);        // -1
  EXPECT_EQ(evaluate("2+3*4").constant, 4);        // 14
  EXPECT_EQ(evaluate("-(1+-(2*4))").constant, 2);  // 7
  EXPECT_EQ(evaluate("3-(x-1)").slope, 4);         // -1
  for (const char* broken : {"", "(", "1+", "(1", "1)", "x*x", "12", "y"})
    EXPECT_THROW(evaluate(broken), Error) << broken;
}

TEST(Expressions, EquationsWithoutAUniqueSolutionAreRefused) {
  const Task& task = find_task("solve_equation");
  EXPECT_THROW(task.solve("(1+2)=3"), Error);
  EXPECT_THROW(task.solve("(1+x)"), Error);
}

}  // namespace
}  // namespace darope
