#pragma once
#include "settings/run.h"

namespace darope {

// How many of `most` threads a step keeps at work, by its parameters times its tokens: a small one is over
// before a second thread has begun, and the more so beside other processes.
int64_t threads_for(double work, int64_t most);

// Those that the config asks for, or that a step of this model has work for. A GPU's host is left as it is.
void use_threads(const RunConfig& config, bool on_cpu);

}  // namespace darope
