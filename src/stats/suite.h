#pragma once
#include "stats/judge.h"

namespace darope::stats {

// A suite of tasks, every task with the same weight.
struct SuiteVerdict {
  std::vector<std::string> tasks;
  Judged these_tasks;                      // were the runs made again on the same tasks
  std::optional<Judged> tasks_like_these;  // and on other tasks of the kind; with two tasks or more
  std::vector<Judged> without;             // these tasks but one, in their order; with two tasks or more

  // The tasks without any one of which a verdict of these_tasks is another: it hangs on them. Of a pair that
  // is undecided, none.
  std::vector<std::string> hangs_on(size_t first, size_t second) const;
};
SuiteVerdict judge_suite(const std::vector<const Scores*>& tasks, const Judging& rule, Noise& noise);

}  // namespace darope::stats
