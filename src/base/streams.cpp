#include "base/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace darope {
namespace {

constexpr std::string_view kEraseLine = "\033[K";  // of a progress line, and harmless from anybody

// Control characters, also those that UTF-8 spells in two bytes, become '?'.
std::string harmless(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    const bool second = i > 0 && static_cast<unsigned char>(out[i - 1]) == 0xC2 && c >= 0x80 && c < 0xA0;
    const bool control = (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F || second;
    if (control && text.substr(i, kEraseLine.size()) != kEraseLine) out[i] = '?';
  }
  return out;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(size_t(wrote));
  }
  return true;
}

ssize_t say(void*, const char* text, size_t size) {
  write_all(STDERR_FILENO, ::isatty(STDERR_FILENO) ? harmless({text, size}) : std::string(text, size));
  return ssize_t(size);  // nobody may be listening any more
}

ssize_t show(void*, const char* text, size_t size) {
  return write_all(STDOUT_FILENO, harmless({text, size})) ? ssize_t(size) : 0;
}

char work[256] = "";  // what a signal ends, as nothing can be made any more once it is there

extern "C" void say_bus_error(int signal) {
  constexpr std::string_view kWords =
      ": SIGBUS: a file that was being read has become shorter, or its disk has failed; what was saved "
      "stands: put the file back and start again\n";
  for (const std::string_view part : {std::string_view("darope"), std::string_view(work), kWords})
    (void)!::write(STDERR_FILENO, part.data(), part.size());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

FILE* stream_of(cookie_write_function_t* write, int buffering) {
  FILE* stream = ::fopencookie(nullptr, "w", {nullptr, write, nullptr, nullptr});
  if (stream) std::setvbuf(stream, nullptr, buffering, BUFSIZ);
  return stream;
}

}  // namespace

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != descriptor) std::abort();
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, say_bus_error);
  if (FILE* err = stream_of(say, _IOLBF)) stderr = err;
  if (!::isatty(STDOUT_FILENO)) return;
  if (FILE* out = stream_of(show, _IOLBF)) stdout = out;
}

void name_work(const std::string& name) {
  fmt::format_to_n(work, sizeof work - 1, ": {}", harmless(name)).out[0] = '\0';
}

void close_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  throw Error(
      fmt::format("cannot write to standard output: {}", errno ? std::strerror(errno) : "it is closed"),
      kFailed);
}

}  // namespace darope
