#pragma once
#include <cstddef>
#include <optional>

#include "stats/basic.h"

namespace darope::stats {

// The runs of an encoding in two groups with nothing between: "solved in 1 of 3 seeds". A mean describes
// neither.
struct Modes {
  size_t low = 0, high = 0;  // runs in each
  double low_mean = 0, high_mean = 0;
};

// The widest gap between runs, if it is several margins wide and several times what runs differ by within
// either group and usually (`usual_sd`, as of other encodings). Fewer than three runs show no groups.
std::optional<Modes> two_groups(Values runs, double margin, double usual_sd);

}  // namespace darope::stats
