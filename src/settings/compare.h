#pragma once
#include "runs/record.h"
#include "settings/run.h"

namespace darope {

// One question: the same model, data and budget with each encoding. Everything but the lists below is shared
// by all runs.
struct CompareConfig : RunConfig {
  std::vector<std::string> tasks, encodings = {"nope", "rope", "hope", "pope", "cope", "darope"};
  int64_t seeds = 3, jobs = 0;
  std::vector<int64_t> rounds = Settling{}.rounds;
  std::string until;
  Margins margins;

  void fields(auto&& visit) {
    visit("tasks", tasks, "synthetic tasks; empty where data.path or data.root_dir is given",
          {.names = task_names()});
    visit("encodings", encodings, "with their options: rope:base=10000");
    visit("seeds", seeds,
          "runs of each encoding; each has its own start and data order, the same for all encodings",
          {.least = 1, .most = kMostSeeds});
    visit("jobs", jobs, "runs side by side, which share the cores; 0: one for each core, on a GPU one",
          {.least = 0});
    visit("rounds", rounds, "of --settle: seeds in all, after each round",
          {.least = kFewestJudged, .most = kMostSeeds});
    visit("until", until,
          "of --settle: the time for all rounds (2h, 45m), or a number of trainings; empty: no limit");
    visit("margins", margins, "");
    RunConfig::fields(visit);
  }
};

}  // namespace darope
