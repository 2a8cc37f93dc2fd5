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
  action.sa_flags = static_cast<int>(SA_RESETHAND);      // the second one meets the system's own handler
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) sigaction(signal, &action, nullptr);
}

int stop_signal() { return received; }

int exit_code_of(int signal) { return signal == SIGINT ? kInterrupted : kPreempted; }

void throw_if_stopped() {
  if (received != 0) throw Error("stopped on request; the same command goes on from here", ExitCode(exit_code_of(received)));
}

}  // namespace darope
