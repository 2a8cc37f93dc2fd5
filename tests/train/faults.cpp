#include "faults.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>

namespace darope::faults {
namespace {

Mode g_mode = Mode::kOff;
int g_call = 0, g_code = 0, g_seen = 0;

// True if this call must fail with errno set; does not return if the process dies here.
bool strikes(bool frees_space = false) {
  if (g_mode == Mode::kOff || ++g_seen < g_call) return false;
  if (g_mode != Mode::kFail) _exit(kDied);
  if (frees_space && g_seen > g_call) return false;
  errno = g_code;
  return true;
}

}  // namespace

void arm(Mode mode, int call, int code) {
  g_mode = mode;
  g_call = call;
  g_code = code;
  g_seen = 0;
}
void disarm() { g_mode = Mode::kOff; }
bool struck() { return g_seen >= g_call; }

extern "C" {
int __real_open(const char*, int, ...);
ssize_t __real_write(int, const void*, size_t);
int __real_fsync(int);
int __real_rename(const char*, const char*);
int __real_mkdir(const char*, mode_t);
int __real_unlink(const char*);
int __real_rmdir(const char*);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return (flags & O_CREAT) && strikes() ? -1 : __real_open(path, flags, mode);
}
ssize_t __wrap_write(int fd, const void* bytes, size_t size) {
  if (g_mode == Mode::kDieHalfway && g_seen + 1 >= g_call && size > 1) {
    if (__real_write(fd, bytes, size / 2) < 0) _exit(1);
    _exit(kDied);
  }
  return strikes() ? -1 : __real_write(fd, bytes, size);
}
int __wrap_fsync(int fd) { return strikes() ? -1 : __real_fsync(fd); }
int __wrap_rename(const char* from, const char* to) { return strikes() ? -1 : __real_rename(from, to); }
int __wrap_mkdir(const char* path, mode_t mode) { return strikes() ? -1 : __real_mkdir(path, mode); }
int __wrap_unlink(const char* path) { return strikes(true) ? -1 : __real_unlink(path); }
int __wrap_rmdir(const char* path) { return strikes(true) ? -1 : __real_rmdir(path); }
}

}  // namespace darope::faults
