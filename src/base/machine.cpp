#include "base/machine.h"

#include <unistd.h>

#include <fstream>
#include <thread>

namespace darope {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string machine_name() {
  return cpu_name() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores";
}

std::string host_name() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

// A line "NAME:  N kB" of a file the system keeps, in bytes.
static int64_t bytes_in(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
  return 0;
}

int64_t peak_memory_bytes() {  // getrusage would count what the process was before exec
  return bytes_in("/proc/self/status", "VmHWM:");
}
int64_t free_memory_bytes() { return bytes_in("/proc/meminfo", "MemAvailable:"); }

}  // namespace darope
