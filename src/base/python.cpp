#include "base/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/signals.h"

namespace darope {
namespace fs = std::filesystem;
namespace of_python {  // named, for a class with outer linkage has some of it as members

fs::path beside_program() { return fs::read_symlink("/proc/self/exe").parent_path(); }
fs::path installed() { return (beside_program() / "../lib/darope").lexically_normal(); }

// The folder with the package in it: where the build leaves it, or `make install`, or around a program that
// pip installed in the package.
fs::path packages() {
  for (const fs::path& folder : {beside_program() / "python", installed() / "python"})
    if (fs::exists(folder)) return folder;
  return beside_program().parent_path();
}

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw Error(fmt::format("cannot make a pipe: {}", std::strerror(errno)), kFailed);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int for_reading() const { return ends_[0]; }
  int for_writing() const { return ends_[1]; }
  void close_end(size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  // Up to the other's end.
  void read(const std::function<void(std::string_view)>& piece) {
    close_end(1);
    std::array<char, 1 << 16> some{};
    for (;;) {
      const ssize_t got = ::read(ends_[0], some.data(), some.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error(fmt::format("cannot read a pipe: {}", std::strerror(errno)), kFailed);
      if (got == 0) return;
      piece({some.data(), size_t(got)});
    }
  }
  // Byte by byte, as lines are few; without its end. Nothing where the other has gone.
  std::optional<std::string> read_line() {
    close_end(1);
    std::string line;
    for (char c = 0;;) {
      const ssize_t got = ::read(ends_[0], &c, 1);
      if (got < 0 && errno == EINTR) {
        throw_if_stopped();
        continue;
      }
      if (got <= 0) return std::nullopt;
      if (c == '\n') return line;
      line += c;
    }
  }
  void write(const std::string& text) {  // where the other has gone, its silence says so
    close_end(0);
    if (::write(ends_[1], text.data(), text.size()) < 0) return;
  }

 private:
  std::array<int, 2> ends_{};
};

int wait_for(pid_t id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

// What a program says of its errors: in memory, which never makes it wait.
class Said {
 public:
  Said() : file_(::memfd_create("said", MFD_CLOEXEC)) {
    if (file_ < 0) throw Error(fmt::format("cannot keep errors: {}", std::strerror(errno)), kFailed);
  }
  ~Said() { ::close(file_); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  int for_writing() const { return file_; }
  std::string last_line() const {
    std::string text(1 << 12, '\0');
    const off_t end = ::lseek(file_, 0, SEEK_END), from = std::max<off_t>(0, end - off_t(text.size()));
    text.resize(size_t(std::max<ssize_t>(0, ::pread(file_, text.data(), text.size(), from))));
    while (text.ends_with('\n')) text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }

 private:
  int file_;
};

pid_t start(std::vector<std::string> command, const Pipe& out, const Said& errors, const Pipe* in = nullptr) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (in) posix_spawn_file_actions_adddup2(&actions, in->for_reading(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.for_writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.for_writing(), STDERR_FILENO);
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t id = 0;
  const int problem = ::posix_spawnp(&id, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    throw Error(fmt::format("'{}' cannot be started: {}", command.front(), std::strerror(problem)), kFailed);
  return id;
}

}  // namespace of_python
using namespace of_python;

std::string python_program() {
  const fs::path built = beside_program() / "../.venv/bin/python",
                 linked = installed() / "environment/bin/python3";
  if (fs::exists(built)) return built.lexically_normal();
  if (!fs::exists(linked)) return "python3";
  static const int once = [] {
    std::string path = packages();
    const char* const more = ::getenv("PYTHONPATH");
    if (more && *more) path += fmt::format(":{}", more);  // an empty one would name the folder one is in
    return ::setenv("PYTHONPATH", path.c_str(), 1);
  }();
  if (once != 0) throw Error("PYTHONPATH cannot be set: there is no memory left", kFailed);
  return linked;
}

struct PythonAsked::State {
  std::string program;
  Pipe in, out;
  Said errors;
  pid_t id = 0;
};

PythonAsked::PythonAsked(const fs::path& script, const std::vector<std::string>& words)
    : state_(std::make_unique<State>()) {
  if (!fs::exists(script)) throw Error(fmt::format("{} is missing", script.string()), kFailed);
  state_->program = python_program();
  std::vector<std::string> command{state_->program, script.string()};
  command.insert(command.end(), words.begin(), words.end());
  state_->id = start(command, state_->out, state_->errors, &state_->in);
}

PythonAsked::~PythonAsked() {
  state_->in.close_end(1);  // which ends it
  state_->in.close_end(0);
  wait_for(state_->id);
}

std::string PythonAsked::answer() {
  if (const std::optional<std::string> line = state_->out.read_line()) return *line;
  throw_if_stopped();  // Ctrl-C ends both
  const std::string said = state_->errors.last_line();
  throw Error(said.empty() ? fmt::format("'{}' ended without a word", state_->program) : said, kFailed);
}

std::string PythonAsked::answer(const std::string& question) {
  state_->in.write(question + '\n');
  return answer();
}

void read_from_python(const fs::path& file, const std::vector<std::string>& words,
                      const std::function<void(std::string_view)>& piece) {
  const fs::path script = packages() / "darope" / file;
  if (!fs::exists(script))
    throw Error(fmt::format("{} is missing: install darope again", script.string()), kFailed);
  std::vector<std::string> command{python_program(), script.string()};
  command.insert(command.end(), words.begin(), words.end());
  Pipe out;
  const Said errors;
  const pid_t id = start(command, out, errors);
  try {
    out.read(piece);
  } catch (...) {
    out.close_end(0);  // which ends it
    wait_for(id);
    throw;
  }
  const int code = wait_for(id);
  if (code == kDone) return;
  throw_if_stopped();  // Ctrl-C ends both
  const std::string said = errors.last_line();
  throw Error(said.empty() ? fmt::format("'{}' ended without a word", command.front()) : said,
              code == kUsage ? kUsage : kFailed);
}

}  // namespace darope
