#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdarg>

// What the libraries that are loaded into any program share: the call behind their own of the same name, and
// the two names that files are opened by.
namespace {
template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}
int opened(const char* name, const char* path, int flags, mode_t bits);  // each library's own
}  // namespace

#define DAROPE_OPENS(name)                                          \
  int name(const char* path, int flags, ...) {                      \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    const mode_t bits = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);                                                   \
    return opened(#name, path, flags, bits);                        \
  }
extern "C" {
DAROPE_OPENS(open)
DAROPE_OPENS(open64)
}
#undef DAROPE_OPENS
