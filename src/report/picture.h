#pragma once
#include "report/summary.h"

namespace darope::report {

// The answer as one picture: encodings on the scale of their scores, the best at the top, each with its
// simultaneous interval and a dot for every run; those that do not differ by more than the margin are joined
// by a bar, as in a critical-difference diagram.
struct Picture {
  const std::vector<Standing>& standings;
  const stats::Judged& judged;
  const Metric& metric;
  const std::vector<std::string>& encodings;  // of the report: rows are hidden with their series
  std::string title;
};
std::string picture_svg(const Picture& picture);   // part of the page, in its colours
std::string picture_file(const Picture& picture);  // a file of its own, on white

}  // namespace darope::report
