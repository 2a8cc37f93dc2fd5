#pragma once
#include "stats/noise.h"
#include "stats/simulate.h"

namespace darope::stats {

// How often the rule is wrong, asked of tables whose truth is known.
enum class Question {
  false_better,  // nobody is ahead: is some pair called better?
  wrong_tied,    // the first is ahead by one margin: is it called tied with another?
  power,         // the first is ahead: is it called better than another?
};

struct Condition {
  std::string label;
  Question question = Question::false_better;
  Truth truth;
  bool in_rounds = false;  // seeds are added where they decide, and it is asked of all rounds together
};
std::vector<Condition> calibration_grid(bool full);
inline constexpr size_t kCalibrationSeeds[] = {2, 3, 5, 10};
inline constexpr double kCalibrationMargin = 0.01;

// The share of so many simulated comparisons for which the answer is yes; the same every time.
double rate(const Condition& condition, size_t seeds, size_t repeats, Noise& noise);

// What a rate of 5 % may be in so many repetitions, one time in a hundred: the limit of all but `power`.
double allowed(size_t repeats);

}  // namespace darope::stats
