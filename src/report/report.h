#pragma once
#include "report/summary.h"
#include "report/words.h"

namespace darope::report {

// Everything from folders and bundles of comparisons to two files in `out`, the page and its numbers. Each
// file is whole or not there; runs that cannot be compared leave what was there before.
Summary write_report(const std::filesystem::path& out, const std::vector<std::filesystem::path>& comparisons,
                     const Options& options = {});

}  // namespace darope::report
