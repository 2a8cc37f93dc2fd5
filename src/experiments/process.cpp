#include "experiments/process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/signals.h"

namespace darope {

pid_t start_process(const std::function<int()>& work) {
  std::fflush(nullptr);
  std::optional<HeldSignals> held(std::in_place);  // none falls between the parent's record and the child's
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw Error("the system refuses another process", kFailed);
  if (child > 0) return child;
  setpgid(0, 0);  // Ctrl-C reaches the parent, which asks each child once
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  watch_signals();
  held.reset();
  int code = kFailed;
  if (getppid() == parent) try {
      code = work();
    } catch (const Error& e) {
      fmt::print(stderr, "darope: {}\n", e.what());
      code = e.code();
    } catch (const std::exception& e) {
      fmt::print(stderr, "darope: {}\n", message_of(e));
    }
  std::fflush(nullptr);
  _exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

}  // namespace darope
