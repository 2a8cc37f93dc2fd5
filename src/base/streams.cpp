#include "base/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"

namespace darope {
namespace {

// Bytes of the character that begins so; 0 where none does.
size_t length_by(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

bool is_harmless(uint32_t code, size_t length) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // less is spelled in fewer bytes
  const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);  // the reading
  return !control && !turns && code >= kLeast[length] && code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
}

// Never destroyed: what stdio has kept is written when everything else is gone.
TerminalText &to_stdout = *new TerminalText, &to_stderr = *new TerminalText;

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
  write_all(STDERR_FILENO, to_stderr.pass({text, size}));
  return ssize_t(size);  // nobody may be listening any more
}

ssize_t show(void*, const char* text, size_t size) {
  return write_all(STDOUT_FILENO, to_stdout.pass({text, size})) ? ssize_t(size) : 0;
}

ssize_t pass_on(void*, const char* text, size_t size) {
  // Whoever reads no further, as head, has what it wanted.
  return write_all(STDOUT_FILENO, {text, size}) || errno == EPIPE ? ssize_t(size) : 0;
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

std::string TerminalText::pass(std::string_view text) {
  rest_ += text;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(rest_[at]); };
  std::string out;
  size_t at = 0;
  while (at < rest_.size()) {
    const size_t length = length_by(byte(at));
    uint32_t code = length < 2 ? byte(at) : byte(at) & (0x7Fu >> length);
    size_t have = 1;
    for (; have < length && at + have < rest_.size() && (byte(at + have) & 0xC0) == 0x80; ++have)
      code = code << 6 | (byte(at + have) & 0x3Fu);
    if (have < length && at + have == rest_.size()) break;
    const bool whole = have == length;
    out += whole && is_harmless(code, length) ? rest_.substr(at, length) : "?";
    at += whole ? length : 1;
  }
  rest_.erase(0, at);
  return out;
}

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != descriptor) std::abort();
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, say_bus_error);
  if (FILE* err = stream_of(say, _IOLBF)) stderr = err;
  const bool terminal = ::isatty(STDOUT_FILENO);
  if (FILE* out = stream_of(terminal ? show : pass_on, terminal ? _IOLBF : _IOFBF)) stdout = out;
}

void name_work(const std::string& name) {
  fmt::format_to_n(work, sizeof work - 1, ": {}", TerminalText().pass(name)).out[0] = '\0';
}

void draw_over(std::string_view line) {
  std::fflush(stderr);
  write_all(STDERR_FILENO, fmt::format("\r\033[K{}", TerminalText().pass(line)));
}

void close_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return;
  throw Error(
      fmt::format("cannot write to standard output: {}", errno ? std::strerror(errno) : "it is closed"),
      kFailed);
}

}  // namespace darope
