#include "base/signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

#include "base/error.h"

namespace darope {
namespace {

constexpr int kWatched[] = {SIGTERM, SIGUSR1, SIGINT, SIGHUP, SIGXCPU};
constexpr int64_t kEchoMs =
    500;  // timeout(1) and job managers signal a process and then its group: one request, twice

volatile std::sig_atomic_t received = 0;
std::atomic<int64_t> first_interrupt = 0;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void remember(int signal) {
  if (received == 0) received = signal;
  if (signal != SIGINT) return;
  if (first_interrupt == 0) first_interrupt = now_ms();
  if (now_ms() - first_interrupt < kEchoMs) return;
  std::signal(SIGINT, SIG_DFL);  // who presses Ctrl-C again does not want to wait
  std::raise(SIGINT);
}

}  // namespace

bool is_ignored(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void watch_signals() {
  received = 0;
  first_interrupt = 0;
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;  // a file is read and written to its end; schedulers may ask more than once
  for (const int signal : kWatched)
    if (signal != SIGHUP || !is_ignored(SIGHUP))
      sigaction(signal, &action, nullptr);  // under nohup it stays so
  std::signal(SIGPIPE, SIG_IGN);            // who stops listening does not stop the work
}

int stop_signal() { return received; }

HeldSignals::HeldSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : kWatched) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}
HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int exit_code_of(int signal) { return signal == SIGINT ? kInterrupted : kPreempted; }

void throw_if_stopped() {
  if (received != 0)
    throw Error("stopped on request; the same command goes on from here", ExitCode(exit_code_of(received)));
}

}  // namespace darope
