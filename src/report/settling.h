#pragma once
#include "report/gather.h"
#include "stats/judge.h"

namespace darope::report {

// One more look at the runs of a comparison whose seeds are added in rounds: what each dataset of the record
// that is still open says at each place of its axis, by dataset. Only runs that the rounds asked for count;
// whatever else lies in the folder was no part of the plan.
struct Rounds {
  std::vector<std::string> encodings;  // as typed
  int64_t first_seed = 0;
  SettingsOf settings = {};  // as gather() takes it
};
std::map<std::string, std::vector<Look>> look_at(const std::filesystem::path& comparison,
                                                 const ComparisonRecord& record, const Rounds& rounds);

// Leaves out the runs of settled datasets that no round has judged yet, with a note: a report is no round.
void leave_out_unjudged(Gathered& all);

// A verdict stands from the round that gave it: where the present runs leave a pair undecided that an earlier
// round decided, the pair has that round's verdict and interval. Before the first round nothing is decided.
void let_stand(const Settling& settling, double x, stats::Judged& judged);

}  // namespace darope::report
