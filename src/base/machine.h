#pragma once
#include <cstdint>
#include <string>

namespace darope {

std::string cpu_name();      // as the system gives it
std::string machine_name();  // the processor and its number of cores
std::string host_name();
int64_t peak_memory_bytes();  // the most this process has held
int64_t free_memory_bytes();  // what the system could still give out

}  // namespace darope
