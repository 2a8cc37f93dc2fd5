#include "experiments/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "base/machine.h"
#include "base/shell.h"
#include "base/signals.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr int kCannotStart = 127;  // as shells say it

std::string command_line(const std::vector<std::string>& words) {
  std::string line = fmt::format("cd {} &&", shell_word(fs::current_path().string()));
  for (const std::string& word : words) line += fmt::format(" {}", shell_word(word));
  return line + '\n';
}

// Between vfork and exec only system calls are allowed: memory is still the parent's.
[[noreturn]] void become(const char* program, char* const* words, int log, int nothing, pid_t parent,
                         const sigset_t& signals) {
  ::setpgid(0, 0);  // Ctrl-C reaches the parent, which asks each child once
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT, SIGHUP, SIGXCPU, SIGCHLD, SIGPIPE, SIGXFSZ})
    if (signal != SIGHUP || !is_ignored(SIGHUP)) ::sigaction(signal, &plain, nullptr);  // nohup is for all
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  const bool ready = ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 &&
                     ::dup2(log, STDERR_FILENO) >= 0;
  if (ready && ::getppid() == parent) ::execv(program, words);
  ::_exit(kCannotStart);
}

}  // namespace

Process::Process(const fs::path& program, const std::vector<std::string>& arguments, const fs::path& log) {
  std::vector<std::string> words{program == kOwnProgram ? fs::read_symlink(program).string()
                                                        : program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  AppendFile(log).append(command_line(words));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const Descriptor out(log, O_WRONLY | O_APPEND | O_NOFOLLOW), nothing("/dev/null", O_RDONLY);
  std::fflush(nullptr);
  std::signal(SIGCHLD,
              SIG_DFL);    // a launcher may have had it ignored, and then nobody would hear how a child ended
  const HeldSignals held;  // none may run a handler of ours in the child's first moments
  const std::string file = program.string();
  const pid_t parent = ::getpid();
  id_ = ::vfork();
  if (id_ == 0) become(file.c_str(), pointers.data(), out.get(), nothing.get(), parent, held.before());
  if (id_ < 0) throw Error("the system refuses another process", kFailed);
}

std::optional<int> Process::ended() {
  if (code_) return code_;
  int status = 0;
  const pid_t found = ::waitpid(id_, &status, WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return std::nullopt;
  code_ = found < 0             ? int(kFailed)  // somebody else has taken its end for us
          : WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                : WEXITSTATUS(status);
  return code_;
}

int Process::wait() {
  while (!ended()) ::usleep(10'000);
  return *code_;
}

void Process::send(int signal) const {
  if (!code_) ::kill(id_, signal);
}

double Process::idle_seconds() {
  const int64_t ticks = process_ticks(id_).value_or(-1);
  if (ticks != ticks_) busy_ = Clock::now();
  ticks_ = ticks;
  return std::chrono::duration<double>(Clock::now() - busy_).count();
}

}  // namespace darope
