#pragma once
#include "report/gather.h"
#include "runs/runs.h"

namespace darope::report {

// What the texts of one run say; an Error that names the file and line of what they should not say.
Run read_run(const RunFiles& files);

}  // namespace darope::report
