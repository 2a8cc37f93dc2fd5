// Loaded into any program (LD_PRELOAD): DAROPE_RECORD=FILE gets every call that changed a disk, in its order,
// from which tests/oracles/power.py makes the disks that a power loss could have left. A record is a line,
// "call path other offset bytes" with tabs between, and the bytes of a write behind it.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>

#include "open.h"

namespace {

int recorder() {
  static const int file = [] {
    const char* path = std::getenv("DAROPE_RECORD");
    constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    return path ? real<int (*)(const char*, int, ...)>("open")(path, kFlags, 0600) : -1;
  }();
  return file;
}

std::string whole(const char* path) {
  char folder[PATH_MAX];
  return path[0] == '/' || !::getcwd(folder, sizeof folder) ? path : std::string(folder) + "/" + path;
}

std::string path_of(int descriptor) {
  char path[PATH_MAX];
  const ssize_t length =
      ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof path);
  return std::string(path, length < 0 ? 0 : size_t(length));
}

void record(const char* call, const std::string& path, const std::string& other = "", off_t offset = 0,
            const void* bytes = nullptr, size_t size = 0) {
  static const auto plain = real<ssize_t (*)(int, const void*, size_t)>("write");
  const int before = errno;
  std::string line = std::string(call) + '\t' + path + '\t' + other + '\t' + std::to_string(offset) + '\t' +
                     std::to_string(size) + '\n';
  line.append(static_cast<const char*>(bytes), size);
  if (recorder() >= 0) (void)!plain(recorder(), line.data(), line.size());
  errno = before;
}

int opened(const char* name, const char* path, int flags, mode_t bits) {
  const int file = real<int (*)(const char*, int, mode_t)>(name)(path, flags, bits);
  if (file >= 0 && (flags & O_CREAT)) record("create", path_of(file));
  if (file >= 0 && (flags & O_TRUNC)) record("truncate", path_of(file));
  return file;
}

// A call that gives 0 where it did something.
int did(int result, const char* call, const std::string& path, const std::string& other = "",
        off_t offset = 0) {
  if (result == 0) record(call, path, other, offset);
  return result;
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto plain = real<ssize_t (*)(int, const void*, size_t)>("write");
  if (descriptor <= 2) return plain(descriptor, bytes, size);
  const bool appends = ::fcntl(descriptor, F_GETFL) & O_APPEND;
  const off_t at = ::lseek(descriptor, 0, appends ? SEEK_END : SEEK_CUR);
  const ssize_t wrote = plain(descriptor, bytes, size);
  if (wrote > 0) record("write", path_of(descriptor), "", at, bytes, size_t(wrote));
  return wrote;
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  const ssize_t wrote =
      real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, size, at);
  if (wrote > 0) record("write", path_of(descriptor), "", at, bytes, size_t(wrote));
  return wrote;
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off_t at) {
  return pwrite(descriptor, bytes, size, at);
}
int fsync(int descriptor) {
  return did(real<int (*)(int)>("fsync")(descriptor), "sync", path_of(descriptor));
}
int ftruncate(int descriptor, off_t size) {
  const int done = real<int (*)(int, off_t)>("ftruncate")(descriptor, size);
  return did(done, "truncate", path_of(descriptor), "", size);
}
int ftruncate64(int descriptor, off_t size) { return ftruncate(descriptor, size); }
int rename(const char* from, const char* to) {
  return did(real<int (*)(const char*, const char*)>("rename")(from, to), "rename", whole(from), whole(to));
}
int mkdir(const char* path, mode_t bits) {
  return did(real<int (*)(const char*, mode_t)>("mkdir")(path, bits), "mkdir", whole(path));
}
int unlink(const char* path) {
  return did(real<int (*)(const char*)>("unlink")(path), "remove", whole(path));
}
int rmdir(const char* path) { return did(real<int (*)(const char*)>("rmdir")(path), "remove", whole(path)); }
}
