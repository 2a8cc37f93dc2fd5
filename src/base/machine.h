#pragma once
#include <cstdint>
#include <string>

namespace darope {

std::string cpu_name();      // as the system gives it
std::string machine_name();  // the processor and its number of cores
std::string host_name();
int64_t peak_memory_bytes();  // the most this process has held

}  // namespace darope
