#pragma once
#include <vector>

#include "settings/run.h"

namespace darope {

// How many of `most` threads a step keeps at work, by its parameters times its tokens: a small one is over
// before a second thread has begun, and the more so beside other processes.
int64_t threads_for(double work, int64_t most);

// Those that the config asks for, or that a step of this model has work for. A GPU's host takes all.
int64_t threads_of(const RunConfig& config, bool on_cpu, int64_t all);
void use_threads(const RunConfig& config, bool on_cpu);

// How many runs go side by side, and with how many threads each: of the cores, a share for each run. It
// follows from the whole plan, so that all of its runs, also later ones, take as many.
struct Pace {
  int64_t jobs, threads;
};
Pace pace_for(const std::vector<RunConfig>& plan, int64_t jobs, bool on_cpu, int64_t cores);

}  // namespace darope
