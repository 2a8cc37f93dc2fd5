#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace darope {

// Where a long job stands, on stderr: one line that changes in place on a terminal, else a line now and then.
class Progress {
 public:
  Progress(std::string what, int64_t total, int64_t done, std::string unit = "");
  ~Progress();
  void show(int64_t done, const std::string& details);  // on a terminal at most ten times a second
  void say(const std::string& line);                    // above it, to stay
  void clear();                                         // before others write to its terminal
  bool terminal() const { return terminal_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_, unit_;
  int64_t total_, first_;
  bool terminal_, drawn_ = false;
  Clock::time_point start_, last_;
};

// The line on a terminal of so many columns: the bar goes first, then what does not fit.
std::string progress_line(const std::string& what, int64_t done, int64_t total, const std::string& unit,
                          const std::string& details, const std::string& left, size_t columns);
std::string format_time(double seconds);  // "1:05", "2:00:00"

}  // namespace darope
