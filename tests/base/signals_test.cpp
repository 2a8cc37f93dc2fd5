#include "base/signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace darope {
namespace {

TEST(Signals, OneRequestMayComeTwice) {  // as from `timeout -s INT`, which signals the process and its group
  watch_signals();
  std::raise(SIGINT);
  std::raise(SIGINT);
  EXPECT_EQ(stop_signal(), SIGINT);
  watch_signals();
  EXPECT_EQ(stop_signal(), 0);
}

TEST(Signals, TheFirstOneCounts) {  // a scheduler's wish is not taken for a person's
  watch_signals();
  std::raise(SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(stop_signal(), SIGTERM);
}

TEST(Signals, HeldOnesWait) {
  watch_signals();
  {
    const HeldSignals held;
    std::raise(SIGTERM);
    EXPECT_EQ(stop_signal(), 0);
  }
  EXPECT_EQ(stop_signal(), SIGTERM);
}

TEST(Signals, AClosedTerminalIsNothingUnderNohup) {
  std::signal(SIGHUP, SIG_IGN);
  watch_signals();
  std::raise(SIGHUP);
  EXPECT_EQ(stop_signal(), 0);
  std::signal(SIGHUP, SIG_DFL);
}

TEST(Signals, AClosedTerminalAndALimitAskForAStop) {
  std::signal(SIGHUP, SIG_DFL);  // whoever runs the tests may have it ignored
  for (const int signal : {SIGHUP, SIGXCPU}) {
    watch_signals();
    std::raise(signal);
    EXPECT_EQ(stop_signal(), signal);
    EXPECT_EQ(exit_code_of(signal), 75);
  }
  watch_signals();
  std::raise(SIGPIPE);  // nobody reads any more: no reason to stop
  EXPECT_EQ(stop_signal(), 0);
}

TEST(Signals, InsistingEndsTheProcess) {
  EXPECT_EXIT(
      {
        watch_signals();
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(Signals, ASchedulerMayAskAsOftenAsItLikes) {
  watch_signals();
  std::raise(SIGTERM);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  std::raise(SIGTERM);
  EXPECT_EQ(stop_signal(), SIGTERM);
  EXPECT_EQ(exit_code_of(stop_signal()), 75);
}

}  // namespace
}  // namespace darope
