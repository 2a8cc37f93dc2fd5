#pragma once
#include <map>
#include <set>

#include "experiments/process.h"
#include "experiments/run.h"
#include "experiments/threads.h"
#include "runs/run_folder.h"
#include "settings/compare.h"

namespace darope {

std::vector<RunConfig> make_plan(const CompareConfig& config);  // seeds x tasks x encodings

// An Error where the plan's folder belongs to another comparison. The runs in it say what it belongs to: each
// must have the plan's settings and data; encodings, seeds and tasks may be others, and join the report.
void check_folder(const std::vector<RunConfig>& plan);

// Likewise for a bundle that the finished runs of a share are to join; where it holds other runs of their
// names, unless those are `taken` before; and where nothing can be written.
void check_bundle(const std::vector<RunConfig>& plan, const std::vector<RunConfig>& share,
                  const std::filesystem::path& bundle, bool taken);

// One machine's part of a plan: every run whose place in it leaves the remainder `index`.
struct Shard {
  int64_t index = 0, count = 1;
};
std::vector<RunConfig> share_of(const std::vector<RunConfig>& plan, const Shard& shard);

// The plan's runs that a bundle holds, and their folders in the plan; one of the same name with another
// config is an Error.
std::map<std::string, std::filesystem::path> finished_in(const std::vector<RunConfig>& plan,
                                                         const std::filesystem::path& bundle);

// Puts them there. A folder that is there stays as it is, and nothing is written before all have been looked
// at.
void take_finished(const std::vector<RunConfig>& plan, const std::filesystem::path& bundle);

Pace pace_of(const std::vector<RunConfig>& plan, const CompareConfig& config);  // on this machine

// How runs are started. One that has not used a processor for so many seconds is asked to stop, and ended if
// it does not answer.
struct Launch {
  std::filesystem::path program = kOwnProgram;
  double patience = 600, patience_after_asking = 60;
};

// `darope train` with one run's settings, which it finds in the comparison's folder.
Process start_job(RunConfig config, const ComparisonFolder& folder, int64_t threads, const Launch& launch);

// What the plan would cost, measured with a few steps of each encoding in a scratch folder, on standard
// output. `finished` names runs that need not be trained.
void print_cost(const std::vector<RunConfig>& plan, const CompareConfig& config,
                const std::set<std::string>& finished, const Launch& launch = {});

// Seconds that what is not finished yet would take, measured likewise.
double seconds_of(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch);

// Trains what is not finished yet, each run as a program of its own. A run that diverges is kept as such; a
// run that fails is an Error once the others are through; a signal, watched by the caller, stops and saves
// them all.
void run_plan(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch = {});

}  // namespace darope
