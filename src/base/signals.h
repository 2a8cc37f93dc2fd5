#pragma once
#include <csignal>

namespace darope {

// SIGTERM, SIGUSR1, SIGHUP, SIGXCPU and SIGINT ask for a stop at the next good moment; a second Ctrl-C ends
// the process at once. A reader of its output that goes away is no reason to end.
bool is_ignored(int signal);  // by whoever started this process, as nohup does with SIGHUP
void watch_signals();         // from now on: what came before is forgotten
int stop_signal();            // the first signal that came, or 0
void throw_if_stopped();  // an Error with the exit code of that signal, for work that is cheap to do again

// While it lives, those signals wait.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  const sigset_t& before() const { return before_; }  // what was held back before

 private:
  sigset_t before_;
};

// 75 for a preemption, 130 for Ctrl-C.
int exit_code_of(int signal);

}  // namespace darope
