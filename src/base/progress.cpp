#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "base/fold.h"
#include "base/streams.h"

namespace darope {

namespace {

// One less than there are: a full line would move the cursor to the next.
size_t columns() {
  const size_t there = columns_of(STDERR_FILENO);
  return there > 1 ? there - 1 : 79;
}

}  // namespace

std::string format_time(double seconds) {
  const int64_t s = std::llround(seconds);
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string progress_line(const std::string& what, int64_t done, int64_t total, const std::string& unit,
                          const std::string& details, const std::string& left, size_t columns) {
  constexpr int64_t kWidth = 24;
  const int64_t filled = total > 0 ? kWidth * done / total : kWidth;
  const std::string count = fmt::format("{}/{}{}{}", done, total, unit.empty() ? "" : " ", unit),
                    bar = fmt::format("[{}{}] ", std::string(size_t(filled), '='),
                                      std::string(size_t(kWidth - filled), ' '));
  const auto joined = [&](const std::string& middle) {
    return fmt::format("{} {}{}{}{}{}{}", what, middle, count, left.empty() ? "" : "  ", left,
                       details.empty() ? "" : "  ", details);
  };
  const std::string whole = joined(bar), bare = joined("");
  return (whole.size() <= columns ? whole : bare).substr(0, columns);
}

Progress::Progress(std::string what, int64_t total, int64_t done, std::string unit)
    : what_(std::move(what)),
      unit_(std::move(unit)),
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
    fmt::print(stderr, "{}\n", progress_line(what_, done, total_, unit_, details, left, 1000));
    return;
  }
  draw_over(progress_line(what_, done, total_, unit_, details, left, columns()));
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) draw_over("");
  drawn_ = false;
}

void Progress::say(const std::string& line) {
  if (drawn_) draw_over("");
  fmt::print(stderr, "{}\n", line);
}

}  // namespace darope
