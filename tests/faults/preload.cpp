// Loaded into any program (LD_PRELOAD): DAROPE_FAULT=MODE:N strikes at the N-th call that changes a disk,
// counted over a command and all that it starts. MODE is count (nothing happens), kill, half (of a write,
// then killed), or the number of an error, which every later call that needs room meets too.
// DAROPE_FAULT_CALLS names the file of eight zero bytes that they count in.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "open.h"

namespace {

enum class Mode { kOff, kCount, kKill, kHalf, kFail };
Mode mode = Mode::kOff;
int code = 0;
long call = 0;
std::atomic<long>* seen = nullptr;  // shared by all processes

struct Setup {
  Setup() {
    const char *said = std::getenv("DAROPE_FAULT"), *file = std::getenv("DAROPE_FAULT_CALLS");
    const char* colon = said ? std::strchr(said, ':') : nullptr;
    if (!colon || !file) return;
    const int calls = real<int (*)(const char*, int, ...)>("open")(file, O_RDWR | O_CLOEXEC);
    void* at = ::mmap(nullptr, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED, calls, 0);
    if (calls < 0 || at == MAP_FAILED) std::abort();
    ::close(calls);
    seen = static_cast<std::atomic<long>*>(at);
    call = std::atol(colon + 1);
    if (!std::strncmp(said, "count", 5))
      mode = Mode::kCount;
    else if (!std::strncmp(said, "kill", 4))
      mode = Mode::kKill;
    else if (!std::strncmp(said, "half", 4))
      mode = Mode::kHalf;
    else
      mode = Mode::kFail, code = std::atoi(said);
  }
} setup;

// True where this call must fail, errno set.
bool strikes(bool frees_room = false) {
  if (mode == Mode::kOff) return false;
  const long now = ++*seen;
  if (mode == Mode::kCount || now < call) return false;
  if (mode != Mode::kFail) ::kill(::getpid(), SIGKILL);
  if (frees_room && now > call) return false;
  errno = code;
  return true;
}

int opened(const char* name, const char* path, int flags, mode_t bits) {
  if ((flags & O_CREAT) && strikes()) return -1;
  return real<int (*)(const char*, int, mode_t)>(name)(path, flags, bits);
}

bool is_ours(int descriptor) { return descriptor > 2; }

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto plain = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (!is_ours(descriptor)) return plain(descriptor, bytes, size);
  if (mode == Mode::kHalf && *seen + 1 >= call && size > 1) (void)!plain(descriptor, bytes, size / 2);
  return strikes() ? -1 : plain(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  static const auto plain = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  if (mode == Mode::kHalf && *seen + 1 >= call && size > 1) (void)!plain(descriptor, bytes, size / 2, at);
  return strikes() ? -1 : plain(descriptor, bytes, size, at);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t at) {
  return pwrite(descriptor, bytes, size, at);
}
int fsync(int descriptor) { return strikes() ? -1 : real<int (*)(int)>("fsync")(descriptor); }
int ftruncate(int descriptor, off_t size) {
  return strikes() ? -1 : real<int (*)(int, off_t)>("ftruncate")(descriptor, size);
}
int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }
int rename(const char* from, const char* to) {
  return strikes() ? -1 : real<int (*)(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t bits) {
  return strikes() ? -1 : real<int (*)(const char*, mode_t)>("mkdir")(path, bits);
}
int unlink(const char* path) { return strikes(true) ? -1 : real<int (*)(const char*)>("unlink")(path); }
int rmdir(const char* path) { return strikes(true) ? -1 : real<int (*)(const char*)>("rmdir")(path); }
}
