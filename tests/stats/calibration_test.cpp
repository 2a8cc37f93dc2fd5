#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "stats/calibrate.h"

namespace darope::stats {
namespace {

// The short grid of `darope calibrate`: the rule is wrong in at most 5 % of comparisons, as far as so many
// can tell, and more seeds never see less.
class Calibration : public testing::TestWithParam<Condition> {};

TEST_P(Calibration, Holds) {
  constexpr size_t repeats = 400;
  Noise noise;
  double last = 0;
  for (const size_t seeds : kCalibrationSeeds) {
    const double found = rate(GetParam(), seeds, repeats, noise);
    if (GetParam().question == Question::power)
      EXPECT_GE(found, last) << seeds << " seeds";
    else
      EXPECT_LE(found, allowed(repeats)) << seeds << " seeds";
    last = found;
  }
  if (GetParam().question == Question::power) {
    EXPECT_GT(last, 0.9);  // never wrong by never speaking would be no rule
  }
}

// The published table has a row for each condition of the full grid.
TEST(CalibrationPage, HasEveryRow) {
  std::ostringstream page;
  page << std::ifstream("docs/statistics.md").rdbuf();
  for (const Condition& row : calibration_grid(true))
    EXPECT_NE(page.str().find("\n| " + row.label + " | "), std::string::npos) << row.label;
}

INSTANTIATE_TEST_SUITE_P(ShortGrid, Calibration, testing::ValuesIn(calibration_grid(false)),
                         [](const auto& row) { return "Row" + std::to_string(row.index); });

}  // namespace
}  // namespace darope::stats
