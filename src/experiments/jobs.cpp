#include <ATen/Context.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <map>
#include <new>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/signals.h"
#include "experiments/compare.h"
#include "experiments/process.h"
#include "runs/runs.h"
#include "train/checkpoint_dir.h"

namespace darope {
namespace {

// Steps that each run has finished, in memory that parent and children share.
class Counters {
 public:
  explicit Counters(size_t count) : count_(count) {
    void* memory =
        mmap(nullptr, count * sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error("no memory for the runs' progress", kFailed);
    data_ = new (memory) Counter[count]{};
  }
  ~Counters() { munmap(data_, count_ * sizeof(Counter)); }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  using Counter = std::atomic<int64_t>;
  Counter& operator[](size_t i) { return data_[i]; }
  int64_t sum() const {
    return std::accumulate(data_, data_ + count_, int64_t{0},
                           [](int64_t sum, const Counter& c) { return sum + c.load(); });
  }

 private:
  size_t count_;
  Counter* data_;
};

// Asked of a child: a process that has looked for GPUs cannot hand them on.
bool has_gpu() {
  return wait_for(start_process([] { return at::hasCUDA() ? 1 : 0; })) == 1;
}

int run_into_log(const RunConfig& config, Counters::Counter& steps) {
  make_directories(config.dump_dir);
  const std::string log = config.dump_dir + "/log.txt";
  if (!std::freopen(log.c_str(), "a", stderr) || !std::freopen("/dev/null", "w", stdout)) return kFailed;
  setvbuf(stderr, nullptr, _IOLBF, 0);
  return run(config, [&](int64_t done) { steps.store(done, std::memory_order_relaxed); });
}

// Where a run goes on: steps of an earlier life say nothing of this one's speed.
int64_t newest_step(const std::string& run) {
  const std::vector<Checkpoint> all = list_checkpoints(std::filesystem::path(run) / "checkpoints");
  return all.empty() ? 0 : all.back().step;
}

class Pool {
 public:
  Pool(const std::vector<RunConfig>& plan, int64_t jobs, int64_t threads)
      : plan_(plan), jobs_(jobs), threads_(threads), counters_(plan.size()) {
    for (size_t i = 0; i < plan.size(); ++i) {
      if (is_finished(plan[i].dump_dir))
        counters_[i] = plan[i].steps, ++finished_;
      else
        counters_[i] = newest_step(plan[i].dump_dir), waiting_.push_back(i);
    }
  }

  void run() {
    const int64_t total = std::accumulate(plan_.begin(), plan_.end(), int64_t{0},
                                          [](int64_t sum, const RunConfig& c) { return sum + c.steps; });
    Progress progress("comparing", total, counters_.sum());
    size_t next = 0;
    while (next < waiting_.size() || !running_.empty()) {
      while (stop_signal() == 0 && next < waiting_.size() && int64_t(running_.size()) < jobs_)
        launch(waiting_[next++]);
      if (stop_signal() != 0 && running_.empty()) break;
      if (stop_signal() != 0 && !asked_) ask_all_to_stop();
      const bool changed = reap();
      if (changed || progress.terminal())
        progress.show(counters_.sum(), fmt::format("{} of {} runs  {}", finished_, plan_.size(), latest_));
      if (!changed) usleep(50'000);
    }
  }

  const std::string& failures() const { return failures_; }

 private:
  void launch(size_t i) {
    RunConfig config = plan_[i];
    config.threads = threads_;
    running_[start_process([&] { return run_into_log(config, counters_[i]); })] = i;
    latest_ = config.name;
  }

  void ask_all_to_stop() {
    asked_ = true;
    for (const auto& [child, i] : running_) kill(child, stop_signal());
  }

  bool reap() {
    for (auto each = running_.begin(); each != running_.end(); ++each) {
      int status = 0;
      if (waitpid(each->first, &status, WNOHANG) != each->first) continue;
      const size_t i = each->second;
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
      running_.erase(each);
      if (is_finished(plan_[i].dump_dir)) {
        counters_[i] = plan_[i].steps;
        ++finished_;
      } else if (stop_signal() == 0 ||
                 (code != kPreempted &&
                  code != kInterrupted)) {  // stopped by somebody else is not through either
        failures_ += fmt::format("{}{} (see {}/log.txt)", failures_.empty() ? "" : ", ", plan_[i].name,
                                 plan_[i].dump_dir);
      }
      return true;
    }
    return false;
  }

  const std::vector<RunConfig>& plan_;
  int64_t jobs_, threads_;
  Counters counters_;
  std::vector<size_t> waiting_;
  std::map<pid_t, size_t> running_;
  size_t finished_ = 0;
  bool asked_ = false;
  std::string latest_, failures_;
};

}  // namespace

Pace pace_of(const CompareConfig& config) {
  if (config.jobs < 0) throw Error(fmt::format("jobs is {}: it must be at least 0", config.jobs));
  const bool gpu = config.device != "cpu" && has_gpu();
  const int64_t cores = std::max<int64_t>(1, std::thread::hardware_concurrency()), jobs = config.jobs > 0
                                                                                              ? config.jobs
                                                                                          : gpu ? 1
                                                                                                : cores;
  // Runs that share a GPU prepare their batches on shares of the cores: threads beyond those wait for each
  // other.
  return {jobs, config.threads > 0 ? config.threads : gpu ? std::max<int64_t>(1, cores / jobs) : 1};
}

void run_plan(const std::vector<RunConfig>& plan, const CompareConfig& config) {
  const Pace pace = pace_of(config);
  Pool pool(plan, pace.jobs, pace.threads);
  pool.run();
  throw_if_stopped();
  if (!pool.failures().empty()) throw Error("not every run came to its end: " + pool.failures(), kFailed);
}

}  // namespace darope
