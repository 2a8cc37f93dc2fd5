#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/fold.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/open.h"
#include "experiments/compare.h"
#include "experiments/scratch.h"
#include "experiments/step_timer.h"
#include "runs/finished_run.h"
#include "runs/lines.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kExamples = 8;

struct Cost {
  double step_seconds = 0, run_seconds = 0;
  int64_t parameters = 0, memory_bytes = 0, disk_bytes = 0;
};

// Tokens of all tests, in lengths of training. Only a task's tests are as many as they are asked to be.
int64_t tested(const Dataset& data) {
  int64_t sum = 0;
  for (const TestLength& test : data.tests) sum += test.set->size() * test.multiple;
  return sum;
}

// Seconds of a step: the first ones choose kernels and, on a GPU, record the step, and do not count.
double step_seconds(const RunFolder& run) {
  double sum = 0;
  int64_t steps = 0;
  each_line(read_file(run.metrics()), run.metrics().string(),
            [&](const Json& line, const std::string& where) {
              if (need<int64_t>(line, "global_step", where) <= StepTimer::kUntimed) return;
              sum += need<double>(line, "speed/curr_iter_time", where);
              ++steps;
            });
  return sum / double(steps);
}

// A few steps and examples as a program and in a folder of their own. What tests cost is taken to grow with
// their tokens.
Cost measure(const RunConfig& whole, int64_t threads, const ComparisonFolder& scratch, const Launch& launch) {
  const RunFolder folder = scratch.run(whole.name);
  RunConfig few = whole;
  few.steps = StepTimer::kSteps, few.optim.warmup = 0, few.logging.freq = 1,
  few.dump_dir = folder.path().string();
  few.data = widest(whole.data);
  few.data.free_running = 0;
  if (chooses_examples(few.data)) few.data.test_examples = std::min(whole.data.test_examples, kExamples);
  if (start_job(few, scratch, threads, launch).wait() != kDone)
    throw Error(
        fmt::format("a trial of {} did not come to its end; 'darope train' with its settings says why",
                    whole.name),
        kFailed);
  const FinishedRun facts = read_finished(read_run_files(folder));
  Cost cost{.step_seconds = step_seconds(folder),
            .parameters = facts.parameters,
            .memory_bytes = facts.peak_memory_bytes};
  const int64_t batches = whole.steps * whole.grad_acc_steps;
  const Dataset data = open_dataset(whole.data, uint64_t(whole.seed), batches),
                wide = open_dataset(few.data, uint64_t(whole.seed), batches);
  const double share =
      double(tokens_before(*data.train, batches)) / double(tokens_before(*wide.train, batches));
  cost.run_seconds = share * cost.step_seconds * double(whole.steps) +
                     facts.scoring_seconds * double(tested(data)) / double(tested(wide));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file()) cost.disk_bytes += int64_t(entry.file_size());
  return cost;
}

// Of each encoding that is trained, as it is known.
using Costs = std::map<std::string, Cost>;
Costs measure_each(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch,
                   const std::function<void(const std::string&, const Cost&)>& use) {
  const Scratch scratch;
  const Pace pace = pace_of(plan, config);
  Costs costs;
  for (const std::string& encoding : config.encodings) {
    const auto first = std::find_if(plan.begin(), plan.end(),
                                    [&](const RunConfig& run) { return run.model.encoding == encoding; });
    if (first == plan.end() || !first->weights_of.empty()) continue;  // another machine's, or not trained
    costs[encoding] = measure(*first, pace.threads, scratch.path(), launch);
    use(encoding, costs[encoding]);
  }
  return costs;
}

// Of the runs that are not finished, so many at a time.
struct Total {
  double seconds = 0;
  int64_t disk = 0, memory = 0, left = 0, scored = 0;
};
Total total_of(const std::vector<RunConfig>& plan, const std::set<std::string>& finished, const Costs& costs,
               int64_t jobs) {
  Total total;
  double longest = 0;
  for (const RunConfig& run : plan) {
    if (finished.contains(run.name)) continue;
    if (!run.weights_of.empty()) {
      ++total.scored;
      continue;
    }
    const Cost& c = costs.at(run.model.encoding);
    ++total.left, total.seconds += c.run_seconds, total.disk += c.disk_bytes;
    longest = std::max(longest, c.run_seconds), total.memory = std::max(total.memory, c.memory_bytes);
  }
  total.seconds = std::max(longest, total.seconds / double(jobs));
  total.memory *= std::min(jobs, std::max<int64_t>(total.left, 1));
  return total;
}

}  // namespace

double seconds_of(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch) {
  std::set<std::string> finished;
  for (const RunConfig& run : plan)
    if (RunFolder(run.dump_dir).is_finished()) finished.insert(run.name);
  const Costs costs = measure_each(plan, config, launch, [](auto&&...) {});
  return total_of(plan, finished, costs, pace_of(plan, config).jobs).seconds;
}

void print_cost(const std::vector<RunConfig>& plan, const CompareConfig& config,
                const std::set<std::string>& finished, const Launch& launch) {
  fmt::print("{:<24} {:>12} {:>10} {:>9} {:>10} {:>10}\n", "encoding", "parameters", "a step", "a run",
             "memory", "disk");
  const auto print = [](const std::string& encoding, const Cost& c) {
    fmt::print("{:<24} {:>12} {:>7.1f} ms {:>9} {:>7.0f} MB {:>7.1f} MB\n", encoding, c.parameters,
               1e3 * c.step_seconds, format_time(c.run_seconds), double(c.memory_bytes) / 1e6,
               double(c.disk_bytes) / 1e6);
  };
  const int64_t jobs = pace_of(plan, config).jobs;
  const Total total = total_of(plan, finished, measure_each(plan, config, launch, print), jobs);
  const bool more = std::any_of(plan.begin(), plan.end(), [](const RunConfig& run) {
    return !run.data.task.empty() && run.data.free_running > 0;
  });
  const std::string scores = total.scored == 0 ? ""
                                               : fmt::format(", {} that score{} the weights of others",
                                                             total.scored, total.scored == 1 ? "s" : "");
  const std::string sentence = fmt::format(
      "{} run{}, {} of them finished{}. The others take about {} with {} at a time, {:.0f} MB of memory and "
      "{:.0f} MB of disk in {}{}.",
      plan.size(), plan.size() == 1 ? "" : "s", int64_t(plan.size()) - total.left - total.scored, scores,
      format_time(total.seconds), jobs, double(total.memory) / 1e6, double(total.disk) / 1e6, config.dump_dir,
      more ? ", beside what free-running answers take" : "");
  fmt::print("\n{}\n", folded(sentence, columns_of(STDOUT_FILENO)));
}

}  // namespace darope
