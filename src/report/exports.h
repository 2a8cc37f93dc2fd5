#pragma once
#include "report/summary.h"

namespace darope::report {

// Every picture of the report as an SVG of its own: one of each overall verdict and of each dataset and
// length.
void write_figures(const std::filesystem::path& folder, const Summary& summary);

// Every pair and every score as tables in three forms: .csv, .md and .tex.
void write_tables(const std::filesystem::path& folder, const Summary& summary);

}  // namespace darope::report
