#pragma once
#include "report/summary.h"

namespace darope::report {

// One HTML file with everything in it: style, script, charting library and data. It loads nothing, and says
// so to the browser.
std::string render_page(const Summary& summary, const Gathered& all);

}  // namespace darope::report
