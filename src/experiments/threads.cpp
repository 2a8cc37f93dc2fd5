#include "experiments/threads.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/plan.h"

namespace darope {

int64_t threads_for(double work, int64_t most) {
  constexpr double kWorthAThread = 1e8;  // about ten milliseconds of one core, forward and backward
  return int64_t(std::clamp(work / kWorthAThread, 1.0, double(most)));
}

int64_t threads_of(const RunConfig& config, bool on_cpu, int64_t all) {
  if (config.threads > 0) return config.threads;
  if (!on_cpu) return all;
  const double tokens = double(config.data.batch_size) * double(config.data.seq_len);
  return threads_for(tokens * double(Plan(config.model).parameters()), all);
}

void use_threads(const RunConfig& config, bool on_cpu) {
  static const int64_t all = at::get_num_threads();  // before a run has made them fewer
  at::set_num_threads(int(threads_of(config, on_cpu, all)));
}

Pace pace_for(const std::vector<RunConfig>& plan, int64_t jobs, bool on_cpu, int64_t cores) {
  if (jobs == 0) jobs = on_cpu ? cores : 1;
  jobs = std::min(jobs, std::max<int64_t>(1, int64_t(plan.size())));
  int64_t threads = 1;
  for (const RunConfig& run : plan)
    threads = std::max(threads, threads_of(run, on_cpu, std::max<int64_t>(1, cores / jobs)));
  return {jobs, threads};
}

}  // namespace darope
