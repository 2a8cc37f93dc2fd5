#include "base/machine.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

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
// The fields of /proc/ID/stat behind the program's name, which may hold anything: [3] and on, as proc(5)
// counts.
static std::vector<std::string> fields_of(int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string stat(std::istreambuf_iterator<char>(file), {});
  std::istringstream rest(stat.substr(stat.rfind(')') + 1));
  std::vector<std::string> fields(3);
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

std::optional<int64_t> process_start(int64_t process) {
  constexpr size_t kStart = 22;
  const std::vector<std::string> fields = fields_of(process);
  return fields.size() > kStart ? std::optional(std::stoll(fields[kStart])) : std::nullopt;
}

std::optional<int64_t> process_ticks(int64_t process) {
  constexpr size_t kUser = 14, kSystem = 15;
  const std::vector<std::string> fields = fields_of(process);
  if (fields.size() <= kSystem) return std::nullopt;
  return std::stoll(fields[kUser]) + std::stoll(fields[kSystem]);
}

int64_t free_memory_bytes() { return bytes_in("/proc/meminfo", "MemAvailable:"); }

}  // namespace darope
