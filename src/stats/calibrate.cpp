#include "stats/calibrate.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

#include "stats/settle.h"
#include "stats/suite.h"

namespace darope::stats {
namespace {

constexpr Judging kRule{.higher_better = true, .margin = kCalibrationMargin, .confidence = 0.95};

Judged judge_together(const std::vector<Scores>& tasks, const Judging& rule, Noise& noise) {
  std::vector<TaskEstimate> estimates;
  for (const Scores& task : tasks) estimates.push_back(estimate(components(task), estimates.size(), noise));
  std::vector<const TaskEstimate*> all;
  for (const TaskEstimate& each : estimates) all.push_back(&each);
  return judge(tasks.front().encodings(), all, rule);
}

std::vector<Scores> simulate_tasks(const Truth& truth, Random& random) {
  std::vector<Scores> tasks;
  for (size_t task = 0; task < truth.tasks; ++task) tasks.push_back(simulate(truth, task, random));
  return tasks;
}

bool answer(const Judged& judged, Question question) {
  return std::any_of(judged.pairs.begin(), judged.pairs.end(), [&](const PairVerdict& pair) {
    const bool ahead = pair.first == 0;
    switch (question) {
      case Question::wrong_tied:
        return ahead && is_within_margin(pair.verdict);
      case Question::power:
        return ahead && is_better(pair.verdict);
      default:
        return is_better(pair.verdict) || is_worse(pair.verdict);
    }
  });
}

// A task whose seeds are made in rounds, each only for the encodings that the last one left open.
class TaskInRounds {
 public:
  TaskInRounds(const SettlePlan& plan, Scores all)
      : plan_(plan), all_(std::move(all)), made_(all_.encodings().size(), plan.seeds.front()) {}

  bool done() const { return settled_.rounds > 0 && settled_.done(); }
  const Settled& settled() const { return settled_; }

  // The scores of the seeds made so far.
  Scores now() const {
    Scores scores(all_.task(), all_.encodings(), all_.seeds(), all_.clusters());
    scores.set_witnesses(all_.witnesses());
    for (size_t e = 0; e < made_.size(); ++e)
      for (size_t s = 0; s < made_[e]; ++s) scores.set(e, s, all_.at(e, s));
    return scores;
  }

  void look(Noise& noise) {
    settled_ = settle(now(), plan_, kRule, settled_, noise);
    for (size_t e = 0; e < made_.size(); ++e)
      if (settled_.more[e]) made_[e] = plan_.seeds[settled_.rounds];
  }

 private:
  const SettlePlan& plan_;
  Scores all_;
  std::vector<size_t> made_;
  Settled settled_;
};

// Of one task, what any round decided; of several, what any round said of the suite.
bool answer_in_rounds(const Truth& truth, Question question, Random& random, Noise& noise) {
  const SettlePlan plan{.seeds = {truth.seeds, truth.seeds + 2, truth.seeds + 5, truth.seeds + 9}};
  Truth most = truth;
  most.seeds = plan.seeds.back();
  std::vector<TaskInRounds> tasks;
  for (Scores& task : simulate_tasks(most, random)) tasks.emplace_back(plan, std::move(task));
  while (!std::ranges::all_of(tasks, &TaskInRounds::done)) {
    std::vector<Scores> now;
    for (const TaskInRounds& task : tasks) now.push_back(task.now());
    const bool suite = tasks.size() > 1;
    if (suite && answer(judge_together(now, plan.rule_of_a_round(kRule), noise), question)) return true;
    for (TaskInRounds& task : tasks)
      if (!task.done()) task.look(noise);
  }
  if (tasks.size() > 1) return false;
  Judged decided;
  for (const Settled::Decision& each : tasks.front().settled().pairs)
    if (each.round > 0) decided.pairs.push_back(each.pair);
  return answer(decided, question);
}

}  // namespace

double rate(const Condition& condition, size_t seeds, size_t repeats, Noise& noise) {
  Truth truth = condition.truth;
  truth.seeds = seeds;
  size_t yes = 0;
  for (size_t r = 0; r < repeats; ++r) {
    Random random(seeds, "calibrate/" + condition.label, r);
    yes += condition.in_rounds
               ? answer_in_rounds(truth, condition.question, random, noise)
               : answer(judge_together(simulate_tasks(truth, random), kRule, noise), condition.question);
  }
  return double(yes) / double(repeats);
}

double allowed(size_t repeats) {
  return quantile(boost::math::binomial(double(repeats), 0.05), 0.99) / double(repeats);
}

std::vector<Condition> calibration_grid(bool full) {
  using enum Question;
  std::vector<Condition> grid = {
      {"runs vary as examples do, N 200", false_better, {.run_sd = 0.0225}},
      {"runs vary little, N 77", false_better, {.examples = 77, .run_sd = 0.002}},
      {"one encoding with 5 times the run SD", false_better, {.unsteady = 5}},
      {"clusters of 20, N 400", false_better, {.examples = 400, .cluster_size = 20, .run_sd = 0.002}},
      {"3 tasks, N 50", false_better, {.encodings = 4, .examples = 50, .tasks = 3}},
      {"seeds added where they decide", false_better, {.encodings = 4}, true},
      {"one margin ahead, run SD .4 margins", wrong_tied, {.run_sd = 0.004, .lead = kCalibrationMargin}},
      {"two run SDs ahead", power, {.lead = 0.02}},
  };
  if (!full) return grid;
  const std::vector<Condition> more = {
      {"runs far above examples, N 50", false_better, {.examples = 50, .run_sd = 0.1}},
      {"runs far below examples, N 50", false_better, {.examples = 50, .run_sd = 0.0005}},
      {"runs as examples, N 5000", false_better, {.examples = 5000, .run_sd = 0.02}},
      {"runs far below examples, N 5000", false_better, {.examples = 5000, .run_sd = 0.0001}},
      {"2 encodings", false_better, {.encodings = 2}},
      {"3 encodings, one with 5 times the run SD", false_better, {.encodings = 3, .unsteady = 5}},
      {"12 encodings", false_better, {.encodings = 12}},
      {"one encoding with 20 times the run SD", false_better, {.unsteady = 20}},
      {"5 times the run SD, runs below examples", false_better, {.run_sd = 0.002, .unsteady = 5}},
      {"clusters of 20, N 5000", false_better, {.examples = 5000, .cluster_size = 20, .run_sd = 0.002}},
      {"15 tasks, N 50", false_better, {.examples = 50, .tasks = 15}},
      {"15 tasks, one encoding with 5 times the run SD",
       false_better,
       {.examples = 50, .tasks = 15, .unsteady = 5}},
      {"seeds added, 5 times the run SD", false_better, {.unsteady = 5}, true},
      {"seeds added, 3 tasks", false_better, {.examples = 50, .tasks = 3}, true},
      {"seeds added, one margin ahead", wrong_tied, {.run_sd = 0.004, .lead = kCalibrationMargin}, true},
      {"one margin ahead, run SD .1 margins, N 2000",
       wrong_tied,
       {.examples = 2000, .run_sd = 0.001, .lead = kCalibrationMargin}},
      {"one margin ahead, 3 tasks", wrong_tied, {.tasks = 3, .run_sd = 0.004, .lead = kCalibrationMargin}},
      {"two run SDs ahead, one other with 5 times the run SD", power, {.unsteady = 5, .lead = 0.02}},
      {"two run SDs ahead, 3 tasks", power, {.examples = 50, .tasks = 3, .lead = 0.02}},
  };
  // Conditions that no constant of the rule was chosen with: other tails, clusters and numbers of encodings.
  const std::vector<Condition> other = {
      {"other: runs and examples with t(3) tails", false_better, {.encodings = 5, .tail_df = 3}},
      {"other: clusters of 1 to 39, N 1000",
       false_better,
       {.encodings = 5, .examples = 1000, .cluster_size = 20, .run_sd = 0.002, .unequal = true}},
      {"other: t(3), clusters of 1 to 39, one with 3 times the run SD",
       false_better,
       {.encodings = 5,
        .examples = 1000,
        .cluster_size = 20,
        .run_sd = 0.005,
        .unsteady = 3,
        .tail_df = 3,
        .unequal = true}},
      {"other: clusters of 1 to 9, N 300, 8 encodings, t(4)",
       false_better,
       {.encodings = 8, .examples = 300, .cluster_size = 5, .run_sd = 0.001, .tail_df = 4, .unequal = true}},
      {"other: 7 tasks, t(3)", false_better, {.encodings = 5, .examples = 40, .tasks = 7, .tail_df = 3}},
      {"other: seeds added, t(3)", false_better, {.encodings = 5, .tail_df = 3}, true},
      {"other: one margin ahead, t(3)",
       wrong_tied,
       {.encodings = 5, .run_sd = 0.003, .lead = kCalibrationMargin, .tail_df = 3}},
      {"other: two run SDs ahead, t(3)", power, {.encodings = 5, .lead = 0.02, .tail_df = 3}},
  };
  grid.insert(grid.end(), more.begin(), more.end());
  grid.insert(grid.end(), other.begin(), other.end());
  return grid;
}

}  // namespace darope::stats
