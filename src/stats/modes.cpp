#include "stats/modes.h"

#include <algorithm>

namespace darope::stats {

std::optional<Modes> two_groups(Values runs, double margin, double usual_sd) {
  constexpr double several = 5;
  check(runs, 0, "the runs of an encoding");
  if (runs.size() < 3) return std::nullopt;
  std::sort(runs.begin(), runs.end());
  size_t split = 1;
  for (size_t i = 2; i < runs.size(); ++i)
    if (runs[i] - runs[i - 1] > runs[split] - runs[split - 1]) split = i;
  const double gap = runs[split] - runs[split - 1];
  const double within = std::max(runs[split - 1] - runs.front(), runs.back() - runs[split]);
  if (gap <= several * std::max({margin, within, usual_sd})) return std::nullopt;
  const auto middle = runs.begin() + ptrdiff_t(split);
  return Modes{split, runs.size() - split, mean(Values(runs.begin(), middle)),
               mean(Values(middle, runs.end()))};
}

}  // namespace darope::stats
