#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace darope {

// This very program, whatever has become of its file since it was started.
inline const std::filesystem::path kOwnProgram = "/proc/self/exe";

// Another program at work beside this one, which hears SIGTERM when this one ends. Nothing of this process
// goes on in it: threads and GPU contexts do not survive a fork, so there is none without exec.
class Process {
 public:
  // What it says is added to `log`, whose first line is the command, for somebody to start it by hand.
  Process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
          const std::filesystem::path& log);
  // Its exit code, or 128 and the signal that ended it; nothing while it runs.
  std::optional<int> ended();
  int wait();  // for the same
  void send(int signal) const;
  double idle_seconds();  // since it was last seen to use a processor

 private:
  using Clock = std::chrono::steady_clock;
  pid_t id_;
  std::optional<int> code_;
  int64_t ticks_ = -1;
  Clock::time_point busy_ = Clock::now();
};

}  // namespace darope
