#pragma once
#include "experiments/run.h"

namespace darope {

// Builds everything a run needs, takes a few steps in a scratch folder, and prints what the run would be and
// cost.
void dry_run(const RunConfig& config);

}  // namespace darope
