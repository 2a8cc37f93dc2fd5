#include <ATen/Context.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/progress.h"
#include "base/signals.h"
#include "experiments/compare.h"
#include "runs/lock.h"
#include "runs/run_folder.h"

namespace darope {
namespace {

// One run of a plan as a program of its own.
struct Job {
  size_t index;
  Process process;
  bool asked = false;   // to stop
  bool silent = false;  // did not answer
};

// A run's exit code in words, where it did not come to its end.
std::string why(const Job& job, int code) {
  if (job.silent) return "did not answer and was ended";
  if (code == kBusy) return "another process is at work there";
  if (code > 128) return fmt::format("ended by signal {}, {}", code - 128, strsignal(code - 128));
  return fmt::format("exit code {}", code);
}

class Pool {
 public:
  Pool(const std::vector<RunConfig>& plan, const ComparisonFolder& folder, const Pace& pace,
       const Launch& launch)
      : plan_(plan), folder_(folder), pace_(pace), launch_(launch), steps_(plan.size()) {
    for (size_t i = 0; i < plan.size(); ++i) {
      const RunFolder run(plan[i].dump_dir);
      steps_[i] = run.is_finished() ? plan[i].steps : run.last_logged_step();
      if (run.is_finished())
        ++finished_;
      else
        waiting_.push_back(i);
    }
  }

  void run() {
    const int64_t total = std::accumulate(plan_.begin(), plan_.end(), int64_t{0},
                                          [](int64_t sum, const RunConfig& c) { return sum + c.steps; });
    Progress progress("comparing", total, steps());
    size_t next = 0;
    while (next < waiting_.size() || !running_.empty()) {
      while (stop_signal() == 0 && next < waiting_.size() && int64_t(running_.size()) < pace_.jobs)
        start(waiting_[next++]);
      if (stop_signal() != 0 && running_.empty()) break;
      for (Job& job : running_) look_after(job);
      const bool changed = reap();
      if (changed || progress.terminal()) {
        for (const Job& job : running_) steps_[job.index] = folder_of(job).last_logged_step();
        progress.show(steps(), fmt::format("{} of {} runs  {}", finished_, plan_.size(), latest_));
      }
      if (!changed) ::usleep(50'000);
    }
  }

  const std::string& failures() const { return failures_; }

 private:
  RunFolder folder_of(const Job& job) const { return RunFolder(plan_[job.index].dump_dir); }
  int64_t steps() const { return std::accumulate(steps_.begin(), steps_.end(), int64_t{0}); }

  void start(size_t i) {
    running_.push_back({i, start_job(plan_[i], folder_, pace_.threads, launch_)});
    latest_ = plan_[i].name;
  }

  // A run that has been asked to stop saves and ends. One that has not used a processor for long never will.
  void look_after(Job& job) {
    if (stop_signal() != 0 && !job.asked) {
      job.asked = true;
      job.process.send(stop_signal());
    }
    const double idle = job.process.idle_seconds();
    if (job.asked && idle > launch_.patience_after_asking) {
      job.silent = true;
      job.process.send(SIGKILL);
    } else if (!job.asked && idle > launch_.patience) {
      fmt::print(stderr, "darope: {} has done nothing for {}: it is asked to stop\n", plan_[job.index].name,
                 format_time(idle));
      job.asked = job.silent = true;
      job.process.send(SIGTERM);
    }
  }

  bool reap() {
    for (auto job = running_.begin(); job != running_.end(); ++job) {
      const std::optional<int> code = job->process.ended();
      if (!code) continue;
      if (folder_of(*job).is_finished()) {
        steps_[job->index] = plan_[job->index].steps;
        ++finished_;
      } else if (!stopped_as_asked(*job, *code)) {
        failures_ += fmt::format("{}{} ({}, see {})", failures_.empty() ? "" : ", ", plan_[job->index].name,
                                 why(*job, *code), folder_.job_log(plan_[job->index].name).string());
      }
      running_.erase(job);
      return true;
    }
    return false;
  }

  // A signal that came before the run could watch for it ends it at once, with nothing to lose.
  bool stopped_as_asked(const Job& job, int code) const {
    return stop_signal() != 0 && !job.silent &&
           (code == kPreempted || code == kInterrupted || code == 128 + stop_signal());
  }

  const std::vector<RunConfig>& plan_;
  const ComparisonFolder& folder_;
  Pace pace_;
  const Launch& launch_;
  std::vector<int64_t> steps_;  // that each run has finished
  std::vector<size_t> waiting_;
  std::vector<Job> running_;
  size_t finished_ = 0;
  std::string latest_, failures_;
};

}  // namespace

Process start_job(RunConfig config, const ComparisonFolder& folder, int64_t threads, const Launch& launch) {
  config.threads = threads;
  const std::filesystem::path settings = folder.job(config.name), log = folder.job_log(config.name);
  make_directories(settings.parent_path());
  write_file(settings, to_yaml(config));
  return Process(launch.program, {"train", settings.string()}, log);
}

Pace pace_of(const CompareConfig& config) {
  if (config.jobs < 0) throw Error(fmt::format("jobs is {}: it must be at least 0", config.jobs));
  const bool gpu = config.device != "cpu" && at::hasCUDA();
  const int64_t cores = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t jobs = config.jobs > 0 ? config.jobs : gpu ? 1 : cores;
  // Runs that share a GPU prepare their batches on shares of the cores: threads beyond those wait for each
  // other.
  return {jobs, config.threads > 0 ? config.threads : gpu ? std::max<int64_t>(1, cores / jobs) : 1};
}

void run_plan(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch) {
  const ComparisonFolder folder(config.dump_dir);
  Pool pool(plan, folder, pace_of(config), launch);
  pool.run();
  throw_if_stopped();
  if (!pool.failures().empty()) throw Error("not every run came to its end: " + pool.failures(), kFailed);
}

}  // namespace darope
