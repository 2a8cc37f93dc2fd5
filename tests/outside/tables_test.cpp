#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "data/prepared/audit.h"
#include "data/prepared/preparation.h"
#include "data/tasks/task.h"
#include "scratch.h"

// A kind of data and a task are each one file and one line: this program has lines.cpp and majority.cpp, and
// copies of the two tables with a line more.
namespace darope {
namespace {

void expect_shown(const std::string& file, const std::string& line) {
  const std::string guide = read_file("CONTRIBUTING.md");
  expect_contains(guide, read_file("tests/outside/" + file));
  expect_contains(guide, line);
}

TEST(Outside, TheGuideShowsWhatIsTestedHere) {
  expect_shown("lines.cpp", "    kind_of<struct Lines>(),\n");
  expect_shown("majority.cpp", "    tasks_of<struct MajorityTasks>(),\n");
}

TEST(Outside, AKindOfDataIsPreparedShownAndAudited) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "in");
  for (int i = 0; i < 8; ++i)
    write_file(scratch / "in" / fmt::format("{}.txt", i),
               fmt::format("the poem {}\n\nhas two lines, {}\n", i, i));
  const Kind& kind = find_kind("lines");
  const PrepareRequest request{.source = scratch / "in", .out = scratch / "set"};
  {
    Preparation preparation(kind, request);
    kind.prepare(request, preparation);
    preparation.finish();
  }
  const PreparedData data(scratch / "set");
  EXPECT_EQ(data.manifest.tokenizer, "bytes");
  EXPECT_EQ(data.manifest.vocabulary, 257);
  ASSERT_EQ(data[Split::train].size(), 8);
  const std::string poem = data.manifest[Split::test].items[0].id.substr(0, 1);
  EXPECT_EQ(data.show(Split::test, 0), "the poem " + poem + "\n");
  EXPECT_EQ(data.show(Split::test, 1), "has two lines, " + poem + "\n");
  EXPECT_EQ(data.clusters(Split::train), (std::vector<int64_t>{0, 0, 1, 1, 2, 2, 3, 3}));
  EXPECT_TRUE(audit(scratch / "set").sound());
}

TEST(Outside, ATaskIsDrawnAndSolved) {
  const Task& task = find_task("majority");
  Random random(1, "test");
  for (int64_t n = 1; n < 40; ++n) {
    const Example example = sample(task, random, n);
    const int64_t as = std::count(example.prompt.begin(), example.prompt.end(), 'a'),
                  bs = std::count(example.prompt.begin(), example.prompt.end(), 'b');
    EXPECT_EQ(example.answer, as > bs ? "a" : "b") << example.prompt;
    EXPECT_LE(int64_t(render(example).size()), rendered_length(task, n));
  }
}

}  // namespace
}  // namespace darope
