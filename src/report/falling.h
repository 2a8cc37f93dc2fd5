#pragma once
#include "report/summary.h"

namespace darope::report {

// Of every dataset whose training losses still fall when the steps are over, a sentence that says by how much
// and for whom: such a ranking is one of speed.
std::vector<std::string> still_falling(const Gathered& all, const Summary& summary);

}  // namespace darope::report
