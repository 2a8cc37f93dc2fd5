#include "runs/lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>

#include "base/error.h"
#include "base/machine.h"
#include "base/progress.h"
#include "runs/lines.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMaxLockBytes = 4096;

// Who holds a lock. `started` is the process's start in ticks since the machine booted: another process that
// was given the same number has another.
struct Holder {
  std::string host, boot, what;
  int64_t process = 0, started = 0, since = 0;  // since: in seconds of 1970
};

std::string first_line(const fs::path& file) {
  const std::string text = read_file(file);
  return text.substr(0, text.find('\n'));
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Holder ourselves(const std::string& what) {
  return {.host = host_name(),
          .boot = first_line("/proc/sys/kernel/random/boot_id"),
          .what = what,
          .process = ::getpid(),
          .started = process_start(::getpid()).value_or(0),
          .since = now()};
}

std::string to_text(const Holder& h) {
  return nlohmann::ordered_json{{"host", h.host},       {"boot", h.boot},   {"process", h.process},
                                {"started", h.started}, {"since", h.since}, {"what", h.what}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

Holder parse_holder(const std::string& text, const fs::path& file) {
  try {
    const std::string where = file.string();
    const Json json = parse_json(text, where);
    return {.host = need<std::string>(json, "host", where),
            .boot = need<std::string>(json, "boot", where),
            .what = need<std::string>(json, "what", where),
            .process = need<int64_t>(json, "process", where),
            .started = need<int64_t>(json, "started", where),
            .since = need<int64_t>(json, "since", where)};
  } catch (const Error&) {
    throw Error(fmt::format("{} is no lock of darope's: remove it if nobody is at work there", file.string()),
                kBusy);
  }
}

// The beginning of a lock whose writer was killed in the middle of it.
bool is_torn(const std::string& text) {
  constexpr std::string_view kBegin = "{\"host\":";
  return !text.ends_with('\n') && !Json::accept(text) &&
         text.substr(0, kBegin.size()) == kBegin.substr(0, text.size());
}

bool is_here(const Holder& h) { return h.host == host_name(); }
bool is_alive(const Holder& h) {
  return h.boot == first_line("/proc/sys/kernel/random/boot_id") && process_start(h.process) == h.started;
}

std::string since_in_words(const Holder& h) {
  return fmt::format("{:%F %T} UTC",
                     fmt::gmtime(std::time_t(std::clamp<int64_t>(h.since, 0, int64_t{1} << 36))));
}

[[noreturn]] void refuse(const Holder& h, const fs::path& file) {
  std::string sentence =
      fmt::format("process {} on {} has been {} since {}", h.process, h.host, h.what, since_in_words(h));
  if (!is_here(h))
    sentence += fmt::format(
        " ({} ago), or left its lock behind, which cannot be seen from here: if it is gone, remove {}",
        format_time(std::max(0.0, double(now()) - double(h.since))), file.string());
  throw Error(sentence, kBusy);
}

std::string content_of(int file, const fs::path& path) {
  struct stat facts{};
  if (::fstat(file, &facts) != 0) fail_on("inspect", path);
  if (!S_ISREG(facts.st_mode) || facts.st_size > kMaxLockBytes)
    throw Error(fmt::format("{} is no lock of darope's: remove it if nobody is at work there", path.string()),
                kBusy);
  std::string text(size_t(facts.st_size), '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  if (got < 0) fail_on("read", path);
  text.resize(size_t(got));
  return text;
}

bool is_still_there(int file, const fs::path& path) {
  struct stat ours{}, theirs{};
  return ::fstat(file, &ours) == 0 && ::lstat(path.c_str(), &theirs) == 0 && ours.st_ino == theirs.st_ino &&
         ours.st_dev == theirs.st_dev;
}

}  // namespace

fs::path lock_beside(const fs::path& file) {
  return file.parent_path() / ("." + file.filename().string() + ".lock");
}

Lock::Lock(fs::path file, const std::string& what) : path_(std::move(file)) {
  constexpr int kTries = 100;
  for (int i = 0; !take(what); ++i) {
    if (i == kTries)
      throw Error(
          fmt::format("{} is held by a process that does not say who it is: wait for it, look for it with "
                      "fuser, or remove it if nobody is at work there",
                      path_.string()),
          kBusy);
    ::usleep(10'000);
  }
}

// Where the file system passes no locks on, the one who makes the file holds it: an empty one is another's,
// who is about to write, and one that is taken over is removed and made anew.
bool Lock::take(const std::string& what) {
  const auto is_there = [&] { return fs::exists(fs::symlink_status(path_)); };
  const bool made = !is_there();
  try {
    const int how = made ? O_CREAT | O_EXCL : 0;
    file_ = std::make_unique<Descriptor>(path_, O_RDWR | O_NOFOLLOW | O_NONBLOCK | how);
  } catch (const Error&) {
    if (is_there() == made) return false;  // another was faster, in making or in removing it
    throw;
  }
  const int file = file_->get();
  const bool taken = ::flock(file, LOCK_EX | LOCK_NB) == 0, held = !taken && errno == EWOULDBLOCK;
  if (!taken && !held && errno != ENOLCK && errno != EOPNOTSUPP) fail_on("lock", path_);
  const bool by_making = !taken && !held;
  if (!is_still_there(file, path_)) return false;  // let go, and removed, before we looked
  const std::string text = content_of(file, path_);
  if (text.empty() && (held || (by_making && !made))) return false;  // just being taken
  if (!text.empty() && !(taken && is_torn(text))) {
    const Holder holder = parse_holder(text, path_);
    if (held && is_here(holder) && !is_alive(holder)) return false;  // somebody merely looks
    if (held || !is_here(holder) || is_alive(holder)) refuse(holder, path_);
    fmt::print(stderr, "{} was left by process {}, which is gone: taken over\n", path_.string(),
               holder.process);
    if (by_making) {
      ::unlink(path_.c_str());
      return false;
    }
  }
  const std::string mine = to_text(ourselves(what));
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, mine.data(), mine.size(), 0) != ssize_t(mine.size()))
    fail_on("write", path_);
  return taken || (is_still_there(file, path_) && content_of(file, path_) == mine);
}

void refuse_held(const fs::path& path) {
  if (!fs::exists(fs::symlink_status(path))) return;
  std::optional<Descriptor> file;
  try {
    file.emplace(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  } catch (const Error&) {
    if (!fs::exists(fs::symlink_status(path))) return;  // let go meanwhile
    throw;
  }
  const bool held = ::flock(file->get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string text = content_of(file->get(), path);
  if (text.empty() || is_torn(text)) return;  // being taken: its taker looks for us once it has it
  const Holder holder = parse_holder(text, path);
  if (held || !is_here(holder) || is_alive(holder)) refuse(holder, path);
}

// Removed while it is still held: whoever waits for this file finds that it is gone, and makes another. Where
// somebody has removed it already, what lies there now is another's.
Lock::~Lock() {
  if (file_ && is_still_there(file_->get(), path_)) ::unlink(path_.c_str());
}

}  // namespace darope
