#include "base/python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

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

 private:
  std::array<int, 2> ends_{};
};

int wait_for(pid_t id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

pid_t start(std::vector<std::string> command, const Pipe& out, const Pipe& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
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

}  // namespace

std::string python_program() {
  const fs::path built = beside_program() / "../.venv/bin/python",
                 linked = installed() / "environment/bin/python3";
  if (fs::exists(built)) return built.lexically_normal();
  if (!fs::exists(linked)) return "python3";
  std::string path = packages();
  if (const char* more = ::getenv("PYTHONPATH")) path += fmt::format(":{}", more);
  ::setenv("PYTHONPATH", path.c_str(), 1);
  return linked;
}

void read_from_python(const fs::path& file, const std::vector<std::string>& words,
                      const std::function<void(std::string_view)>& piece) {
  std::vector<std::string> command{python_program(), (packages() / "darope" / file).string()};
  command.insert(command.end(), words.begin(), words.end());
  Pipe out, errors;
  const pid_t id = start(command, out, errors);
  try {
    out.read(piece);
  } catch (...) {
    out.close_end(0);  // which ends it
    errors.close_end(0);
    wait_for(id);
    throw;
  }
  std::string said;
  errors.read([&](std::string_view more) { said += more; });
  const int code = wait_for(id);
  if (code == kDone) return;
  while (said.ends_with('\n')) said.pop_back();
  throw Error(said.substr(said.rfind('\n') + 1), code == kUsage ? kUsage : kFailed);
}

}  // namespace darope
