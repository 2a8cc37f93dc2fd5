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

int64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");  // getrusage would count what the process was before exec
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

}  // namespace darope
