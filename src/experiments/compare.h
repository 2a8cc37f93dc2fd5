#pragma once
#include "experiments/run.h"

namespace darope {

// One question: the same model, data and budget with each encoding. Everything but the lists below is shared by all runs.
struct CompareConfig : RunConfig {
  std::vector<std::string> tasks, encodings = {"nope", "rope", "hope", "pope", "cope", "darope"};
  int64_t seeds = 3, jobs = 0;

  void fields(auto&& visit) {
    visit("tasks", tasks, "synthetic tasks; empty where data.path or data.root_dir is given");
    visit("encodings", encodings, "with their options: rope:base=10000");
    visit("seeds", seeds, "runs of each encoding; each has its own start and data order, the same for all encodings");
    visit("jobs", jobs, "runs side by side; 0: one for each core with one thread each, on a GPU one");
    RunConfig::fields(visit);
  }
};

std::vector<RunConfig> make_plan(const CompareConfig& config);     // seeds x tasks x encodings, each checked

// Trains what is not finished yet, in processes of their own under dump_dir/runs/. A run that diverges is kept as such; a run
// that fails is an Error once the others are through; a signal stops and saves them all.
void run_plan(const std::vector<RunConfig>& plan, const CompareConfig& config);

}  // namespace darope
