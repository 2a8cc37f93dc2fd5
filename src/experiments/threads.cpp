#include "experiments/threads.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "model/plan.h"

namespace darope {

int64_t threads_for(double work, int64_t most) {
  constexpr double kWorthAThread = 1e8;  // about ten milliseconds of one core, forward and backward
  return int64_t(std::clamp(work / kWorthAThread, 1.0, double(most)));
}

void use_threads(const RunConfig& config, bool on_cpu) {
  if (config.threads > 0) {
    at::set_num_threads(int(config.threads));
  } else if (on_cpu) {
    const double tokens = double(config.data.batch_size) * double(config.data.seq_len);
    const double work = tokens * double(Plan(config.model).parameters());
    static const int64_t all = at::get_num_threads();  // before a run has made them fewer
    at::set_num_threads(int(threads_for(work, all)));
  }
}

}  // namespace darope
