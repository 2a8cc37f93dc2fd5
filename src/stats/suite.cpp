#include "stats/suite.h"

#include <algorithm>

#include "base/error.h"

namespace darope::stats {
namespace {

using Estimates = std::vector<const TaskEstimate*>;

// Mean scores of one task over the seeds that every encoding has; empty where there is none.
Values means_of(const Scores& task) {
  Values sums(task.encodings().size());
  double seeds = 0;
  for (size_t s = 0; s < task.seeds(); ++s) {
    bool all = true;
    for (size_t e = 0; e < sums.size(); ++e) all = all && task.has(e, s);
    if (!all) continue;
    for (size_t e = 0; e < sums.size(); ++e) sums[e] += mean(task.at(e, s));
    ++seeds;
  }
  if (seeds == 0) return {};
  for (double& sum : sums) sum /= seeds;
  return sums;
}

// Tasks are to the kind of task what seeds are to one task: blocks, drawn at random.
std::optional<Judged> like_these(const std::vector<const Scores*>& tasks, const Judging& rule, Noise& noise) {
  Table by_encoding(tasks.front()->encodings().size());
  for (const Scores* task : tasks) {
    const Values means = means_of(*task);
    if (means.empty()) return std::nullopt;
    for (size_t e = 0; e < means.size(); ++e) by_encoding[e].push_back(means[e]);
  }
  const TaskEstimate blocks = estimate(components(by_encoding), 0, noise);
  return judge(tasks.front()->encodings(), Estimates{&blocks}, rule);
}

bool same_kind(Verdict a, Verdict b) {
  return is_better(a) == is_better(b) && is_worse(a) == is_worse(b) &&
         (a == Verdict::tied) == (b == Verdict::tied);
}

}  // namespace

std::vector<std::string> SuiteVerdict::hangs_on(size_t first, size_t second) const {
  const Verdict verdict = these_tasks.pair(first, second).verdict;
  std::vector<std::string> names;
  for (size_t t = 0; t < without.size() && verdict != Verdict::undecided; ++t)
    if (!same_kind(verdict, without[t].pair(first, second).verdict)) names.push_back(tasks[t]);
  return names;
}

SuiteVerdict judge_suite(const std::vector<const Scores*>& tasks, const Judging& rule, Noise& noise) {
  check_tasks(tasks);
  std::vector<TaskEstimate> estimates;
  Estimates all;
  for (const Scores* task : tasks) estimates.push_back(estimate(components(*task), estimates.size(), noise));
  for (const TaskEstimate& each : estimates) all.push_back(&each);

  const std::vector<std::string>& encodings = tasks.front()->encodings();
  SuiteVerdict result;
  for (const Scores* task : tasks) result.tasks.push_back(task->task());
  result.these_tasks = judge(encodings, all, rule);
  if (tasks.size() < 2) return result;
  result.tasks_like_these = like_these(tasks, rule, noise);
  for (size_t t = 0; t < tasks.size(); ++t) {
    Estimates rest = all;
    rest.erase(rest.begin() + ptrdiff_t(t));
    result.without.push_back(judge(encodings, rest, rule));
  }
  return result;
}

}  // namespace darope::stats
