#include <ATen/Context.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <numeric>
#include <sstream>
#include <thread>

#include "base/config.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/signals.h"
#include "experiments/compare.h"
#include "runs/curve.h"
#include "runs/facts.h"
#include "runs/lock.h"
#include "runs/run_folder.h"

namespace darope {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

// One run of a plan as a program of its own.
struct Job {
  size_t index;
  Process process;
  std::optional<Clock::time_point> asked = {};  // to stop
  bool silent = false;                          // did not answer
  std::optional<CurvePoint> last = {};          // that it has logged
};

// A run's exit code in words, where it did not come to its end.
std::string why(const Job& job, int code) {
  if (job.silent) return "did not answer and was ended";
  if (code == kBusy) return "another process is at work there";
  if (code == 128 + SIGKILL) return "killed, perhaps by the system for want of memory (SIGKILL)";
  if (code > 128) return fmt::format("ended by signal {}, {}", code - 128, strsignal(code - 128));
  return fmt::format("exit code {}", code);
}

// "own-rope-s0: 150 steps in 0:12, loss 2.31"
std::string summary_of(const RunConfig& run) {
  const RunFolder folder(run.dump_dir);
  const RunFacts facts =
      parse_facts(parse_json(read_file(folder.facts()), folder.facts().string()), folder.facts().string());
  if (!run.weights_of.empty())
    return fmt::format("{}: scored with the weights of {}", run.name, run.weights_of);
  if (facts.diverged) return fmt::format("{}: diverged after {} steps", run.name, facts.steps);
  const std::vector<CurvePoint> curve = read_curve(read_metrics_file(folder), folder.metrics().string());
  return fmt::format("{}: {} steps in {}{}", run.name, facts.steps, format_time(facts.seconds),
                     curve.empty() ? "" : fmt::format(", training loss {:.3f}", curve.back().loss));
}

// What a run said at its end, for who has not its log open.
std::string last_lines(const std::filesystem::path& log) {
  constexpr int64_t kLines = 5;
  constexpr int64_t kEnough = 1 << 16;  // bytes
  std::istringstream text(end_of_file(log, kEnough));
  std::deque<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back("  " + line + "\n");
    if (lines.size() > kLines) lines.pop_front();
  }
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

// A run that scores another's weights takes none.
int64_t steps_of(const RunConfig& run) { return run.weights_of.empty() ? run.steps : 0; }

int64_t logged_steps(const RunConfig& run, const std::optional<CurvePoint>& last) {
  return std::min(steps_of(run), last.value_or(CurvePoint{}).step);
}

class Pool {
 public:
  Pool(const std::vector<RunConfig>& plan, const ComparisonFolder& folder, const Pace& pace,
       const Launch& launch)
      : plan_(plan), folder_(folder), pace_(pace), launch_(launch), steps_(plan.size()) {
    for (size_t i = 0; i < plan.size(); ++i) {
      const RunFolder run(plan[i].dump_dir);
      steps_[i] = run.is_finished() ? steps_of(plan[i]) : logged_steps(plan[i], run.last_logged());
      if (run.is_finished())
        ++finished_;
      else
        waiting_.push_back(i);
    }
  }

  void run() {
    const int64_t total = std::accumulate(plan_.begin(), plan_.end(), int64_t{0},
                                          [](int64_t sum, const RunConfig& c) { return sum + steps_of(c); });
    Progress progress("comparing", total, steps(), "steps");
    while (!waiting_.empty() || !running_.empty()) {
      while (stop_signal() == 0 && int64_t(running_.size()) < pace_.jobs) {
        const auto next = std::ranges::find_if(waiting_, [&](size_t i) { return is_ready(plan_[i]); });
        if (next == waiting_.end()) break;
        start(*next);
        waiting_.erase(next);
      }
      if (running_.empty()) break;  // stopped, or what is left waits for a run that failed
      for (Job& job : running_) look_after(job);
      const bool changed = reap(progress);
      if (changed || progress.terminal()) {
        for (Job& job : running_) {
          job.last = folder_of(job).last_logged();
          steps_[job.index] = logged_steps(plan_[job.index], job.last);
        }
        progress.show(steps(), fmt::format("{} of {} runs  {}", finished_, plan_.size(), at_work()));
      }
      if (!changed) ::usleep(50'000);
    }
  }

  const std::string& failures() const { return failures_; }
  const std::filesystem::path& first_log() const { return first_log_; }  // of the runs that failed

 private:
  // A run that scores another's weights waits for that one.
  bool is_ready(const RunConfig& run) const {
    return run.weights_of.empty() || folder_.run(run.weights_of).is_finished();
  }
  RunFolder folder_of(const Job& job) const { return RunFolder(plan_[job.index].dump_dir); }
  int64_t steps() const { return std::accumulate(steps_.begin(), steps_.end(), int64_t{0}); }

  std::string at_work() const {
    if (running_.size() > 2) return fmt::format("{} at work", running_.size());
    std::vector<std::string> names;
    for (const Job& job : running_)
      names.push_back(plan_[job.index].name + (job.last ? fmt::format(" loss {:.3f}", job.last->loss) : ""));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void start(size_t i) { running_.push_back({i, start_job(plan_[i], folder_, pace_.threads, launch_)}); }

  // A run that has been asked to stop saves and ends. One that has not used a processor for long never will:
  // it is asked, and has as long again to answer as any other.
  void look_after(Job& job) {
    const double idle = job.process.idle_seconds();
    if (stop_signal() != 0 && !job.asked) ask(job, stop_signal());
    if (job.asked && std::min(idle, seconds_since(*job.asked)) > launch_.patience_after_asking) {
      job.silent = true;
      job.process.send(SIGKILL);
    } else if (!job.asked && idle > launch_.patience) {
      fmt::print(stderr, "darope: {} has done nothing for {}: it is asked to stop\n", plan_[job.index].name,
                 format_time(idle));
      job.silent = true;
      ask(job, SIGTERM);
    }
  }

  static void ask(Job& job, int signal) {
    job.asked = Clock::now();
    job.process.send(signal);
  }

  bool reap(Progress& progress) {
    for (auto job = running_.begin(); job != running_.end(); ++job) {
      const std::optional<int> code = job->process.ended();
      if (!code) continue;
      if (folder_of(*job).is_finished()) {
        steps_[job->index] = steps_of(plan_[job->index]);
        ++finished_;
        progress.say(summary_of(plan_[job->index]));
      } else if (!stopped_as_asked(*job, *code)) {
        if (failures_.empty()) first_log_ = folder_.job_log(plan_[job->index].name);
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
  std::string failures_;
  std::filesystem::path first_log_;
};

}  // namespace

Process start_job(RunConfig config, const ComparisonFolder& folder, int64_t threads, const Launch& launch) {
  config.threads = threads;
  const std::filesystem::path settings = folder.job(config.name), log = folder.job_log(config.name);
  for (const std::filesystem::path& each : {settings.parent_path(), folder.runs()})
    make_directories_in(folder.path(), each);
  refuse_link(config.dump_dir);
  write_file(settings, to_yaml(config));
  return Process(launch.program, {"train", settings.string()}, log);
}

Pace pace_of(const std::vector<RunConfig>& plan, const CompareConfig& config) {
  const bool on_cpu = config.device == "cpu" || !at::hasCUDA();
  return pace_for(plan, config.jobs, on_cpu, std::max<int64_t>(1, std::thread::hardware_concurrency()));
}

void run_plan(const std::vector<RunConfig>& plan, const CompareConfig& config, const Launch& launch) {
  const ComparisonFolder folder(config.dump_dir);
  Pool pool(plan, folder, pace_of(plan, config), launch);
  pool.run();
  throw_if_stopped();
  if (!pool.failures().empty()) {
    fmt::print(stderr, "The last lines of {}:\n{}", pool.first_log().string(), last_lines(pool.first_log()));
    throw Error("not every run came to its end: " + pool.failures(), kFailed);
  }
}

}  // namespace darope
