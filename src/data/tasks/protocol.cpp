#include "data/tasks/protocol.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace darope {

std::string_view name_of(Bucket bucket) {
  return bucket == Bucket::in_domain ? "1x" : bucket == Bucket::twice ? "2x" : "8x";
}

Range lengths(const Task& task, int64_t context, Bucket bucket) {
  if (bucket == Bucket::in_domain) return {task.min_n, n_max(task, context)};
  const int64_t factor = bucket == Bucket::twice ? 2 : 8;
  const Range range{n_max(task, factor / 2 * context) + 1, n_max(task, factor * context)};
  if (range.first > range.last)
    throw Error(std::string(task.name) + " has no lengths between " + std::to_string(factor / 2 * context) +
                " and " + std::to_string(factor * context) + " bytes: choose another context than " +
                std::to_string(context));
  return range;
}

int64_t longest_n(const LengthSchedule& schedule, Range range, int64_t step, int64_t steps) {
  if (schedule.kind == "uniform") return range.last;
  const int64_t start = std::clamp<int64_t>(4, range.first, range.last);
  const double progress = std::min(1.0, double(step) / (schedule.share * double(steps)));
  return start + int64_t(std::floor(double(range.last - start) * std::pow(progress, schedule.power)));
}

Example training_example(const TrainingPlan& plan, int64_t step, int64_t row) {
  Random random(plan.seed, "task/" + std::string(plan.task.name) + "/train",
                uint64_t(step) << 32 | uint64_t(row));
  const int64_t n = random.between(plan.range.first, longest_n(plan.schedule, plan.range, step, plan.steps));
  return sample(plan.task, random, n);
}

Example test_example(const Task& task, int64_t context, Bucket bucket, uint64_t seed, int64_t index) {
  Random random(seed, "task/" + std::string(task.name) + "/test/" + std::string(name_of(bucket)),
                uint64_t(index));
  const Range range = lengths(task, context, bucket);
  return sample(task, random, random.between(range.first, range.last));
}

}  // namespace darope
