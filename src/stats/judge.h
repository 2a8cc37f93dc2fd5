#pragma once
#include <optional>
#include <string_view>

#include "stats/estimate.h"

namespace darope::stats {

// What one simultaneous 95 % interval says of a pair, seen from its first encoding:
//   better, worse   it leaves 0 out; "slightly" where it also lies inside the margin: by less than matters;
//   tied            it lies inside the margin;
//   undecided       everything else, or nothing to tell chance by.
enum class Verdict { better, slightly_better, worse, slightly_worse, tied, undecided };
std::string_view name_of(Verdict verdict);
Verdict verdict_named(std::string_view name);  // an Error for any other text
Verdict opposite(Verdict verdict);
bool is_better(Verdict verdict);  // by any amount
bool is_worse(Verdict verdict);
bool is_within_margin(Verdict verdict);  // tied, or different by less than matters

struct Judging {
  bool higher_better = true;
  double margin = 0.01;  // a difference this small does not matter, in units of the score
  double confidence = 0.95;
};

// Differences are turned so that positive means the first is the better one.
struct PairVerdict {
  size_t first = 0, second = 0;
  double difference = 0, standard_error = 0, df = 0, critical = 0;
  double runs = 0, examples = 0;  // the two parts of the squared standard error
  Interval interval;
  Verdict verdict = Verdict::undecided;
  double confidence = 0.95;
  size_t seeds = 0;  // that both have, of the task with the fewest; with 0 there is nothing to compare

  bool about_encodings() const { return seeds > 1; }  // else about these models only
};
PairVerdict turned(PairVerdict pair);

struct Judged {
  std::vector<std::string> encodings;
  std::vector<PairVerdict> pairs;  // (i, j) with i < j, row by row
  std::vector<std::string> apart;  // encodings whose runs vary much more than the others', on some task
  std::optional<size_t> leader;    // the best mean; chosen by looking, so the family is all pairs

  PairVerdict pair(size_t first, size_t second) const;  // from the first one's side
  // Largest groups of two or more in which no pair differs by more than the margin; they may overlap. Tables
  // can be made that have more of them than anybody could list: no more than so many are found.
  static constexpr size_t kMostGroups = 1000;
  std::vector<std::vector<size_t>> tied_groups() const;
};

Judged judge(const Scores& task, const Judging& rule, Noise& noise);
// Of several tasks, every one with the same weight, from what was estimated on each; all on one scale.
Judged judge(const std::vector<std::string>& encodings, const std::vector<const TaskEstimate*>& estimates,
             const Judging& rule);

// Half-widths of intervals around each encoding's own mean whose sums are, as nearly as can be, the
// half-widths of the pairs' intervals: for drawing, where two that do not overlap differ.
Values half_widths(const Judged& judged);

// An Error where there is no task, encodings differ between tasks, or all examples of one are one cluster.
void check_tasks(const std::vector<const Scores*>& tasks);

// Whether some encoding is better than the best constant answer by more than matters, by the same rule: the
// constant is one more row of the table. A task that nobody learned has no "better".
bool is_learned(const Scores& task, double best_constant, const Judging& rule, Noise& noise);

}  // namespace darope::stats
