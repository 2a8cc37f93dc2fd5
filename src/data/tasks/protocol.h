#pragma once
#include <string>

#include "data/tasks/task.h"

namespace darope {

// Which lengths a model sees and at which it is tested. A context of C bytes holds the whole rendering.
struct Range {
  int64_t first = 0, last = 0;  // both included
};

enum class Bucket { in_domain, twice, eightfold };  // lengths that fill up to C, from C to 2C, from 4C to 8C
inline constexpr Bucket kBuckets[] = {Bucket::in_domain, Bucket::twice, Bucket::eightfold};
std::string_view name_of(Bucket bucket);  // 1x, 2x, 8x

Range lengths(const Task& task, int64_t context, Bucket bucket);  // of n; training draws from in_domain

// How training lengths develop. `uniform`: n is uniform on the whole range throughout. `grow`: the longest n
// rises from 4 to the end of the range over the first `share` of the steps, as progress to the `power`; n is
// uniform up to it.
struct LengthSchedule {
  std::string kind = "uniform";
  double share = 0.75, power = 1;
  void fields(auto&& visit) {
    visit("kind", kind,
          "uniform: all lengths from the start; grow: the longest rises from 4 to the full length",
          {.names = {"uniform", "grow"}});
    visit("share", share, "grow: the full length is reached after this share of the steps",
          {.most = 1, .above = 0});
    visit("power", power, "grow: the longest rises as progress to this power", {.above = 0});
  }
};
int64_t longest_n(const LengthSchedule& schedule, Range range, int64_t step, int64_t steps);

// Samples are pure functions of their names, so every encoding meets the same ones in the same order.
// Training differs by seed; a test set must not, or scores could not be paired by example: give every run of
// a comparison the same test seed.
struct TrainingPlan {
  const Task& task;
  Range range;
  LengthSchedule schedule;
  int64_t steps;
  uint64_t seed;
};
Example training_example(const TrainingPlan& plan, int64_t step, int64_t row);
Example test_example(const Task& task, int64_t context, Bucket bucket, uint64_t seed, int64_t index);

}  // namespace darope
