#include "base/machine.h"

#include <sys/resource.h>
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

std::string machine_name() { return cpu_name() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores"; }

std::string host_name() {
  char name[256] = "unknown";
  gethostname(name, sizeof name - 1);
  return name;
}

int64_t peak_memory_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace darope
