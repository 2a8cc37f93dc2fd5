#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace darope {

std::string format_time(double seconds) {
  const int64_t s = std::llround(seconds);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

Progress::Progress(std::string what, int64_t total, int64_t done)
    : what_(std::move(what)),
      total_(total),
      first_(done),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_() {}

Progress::~Progress() {
  if (drawn_) std::fputc('\n', stderr);
}

void Progress::show(int64_t done, const std::string& details) {
  const Clock::time_point now = Clock::now();
  if (terminal_ && done < total_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string left =
      done > first_ ? format_time(seconds / double(done - first_) * double(total_ - done)) + " left" : "";
  if (!terminal_) {
    fmt::print(stderr, "{}: {}/{}  {}  {}\n", what_, done, total_, details, left);
    return;
  }
  constexpr int64_t width = 24;
  const int64_t filled = total_ > 0 ? width * done / total_ : width;
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{}  {}  {}", what_, std::string(size_t(filled), '='),
             std::string(size_t(width - filled), ' '), done, total_, details, left);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace darope
