#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace darope {

std::string cpu_name();      // as the system gives it
std::string machine_name();  // the processor and its number of cores
std::string host_name();
int64_t peak_memory_bytes();  // the most this process has held
int64_t free_memory_bytes();  // what the system could still give out

// Of another process; nothing where there is none of this number.
std::optional<int64_t> process_start(int64_t process);  // in ticks since the machine booted
std::optional<int64_t> process_ticks(int64_t process);  // processor time of all its threads

}  // namespace darope
