#pragma once
#include "experiments/compare.h"
#include "runs/record.h"

namespace darope {

// What --until allows: "2h", "1h30m", "45m" of time, or a plain number of runs; "" allows everything.
struct Budget {
  double seconds;
  int64_t runs;
};
Budget parse_budget(const std::string& until);

// What the comparison fixes before its first run; `settling` where seeds are added in rounds.
ComparisonRecord fixed_by(const CompareConfig& config, const std::vector<RunConfig>& plan, bool settling);
// Joined to what its folder has fixed before: an Error where that is another margin or plan of rounds.
ComparisonRecord joined_to_folder(ComparisonRecord fixed, const ComparisonFolder& folder);

// The runs of the largest plan that the rounds so far ask for.
std::vector<RunConfig> asked_for(const std::vector<RunConfig>& largest, const CompareConfig& config,
                                 const ComparisonRecord& record);

// Adds seeds in rounds, only to datasets and encodings that are not decided, until all are, the rounds are
// through, or the next one would not fit into the budget. After each round its decisions are in the folder's
// record, so that the same command goes on where it was stopped. `take` brings in finished runs from
// elsewhere before a round's others are trained.
void settle(const std::vector<RunConfig>& largest, const CompareConfig& config,
            const std::function<void(const std::vector<RunConfig>&)>& take, const Launch& launch = {});

}  // namespace darope
