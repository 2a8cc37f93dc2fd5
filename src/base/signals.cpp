#include "base/signals.h"

#include <csignal>

#include "base/error.h"

namespace darope {
namespace {

volatile std::sig_atomic_t received = 0;

void remember(int signal) { received = signal; }

}  // namespace

void watch_signals() {
  received = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;                           // a file is read and written to its end; schedulers may ask more than once
  for (const int signal : {SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
  action.sa_flags |= static_cast<int>(SA_RESETHAND);      // the second Ctrl-C meets the system's own handler
  sigaction(SIGINT, &action, nullptr);
}

int stop_signal() { return received; }

int exit_code_of(int signal) { return signal == SIGINT ? kInterrupted : kPreempted; }

void throw_if_stopped() {
  if (received != 0) throw Error("stopped on request; the same command goes on from here", ExitCode(exit_code_of(received)));
}

}  // namespace darope
