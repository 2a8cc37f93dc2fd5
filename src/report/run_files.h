#pragma once
#include "report/gather.h"

namespace darope::report {

// The files of one run folder: run.json, results.jsonl, metrics.jsonl and config.yaml. Without run.json it is not finished.
bool finished_or_diverged(const std::filesystem::path& folder);
Run read_run(const std::filesystem::path& folder);

}  // namespace darope::report
