#include "runs/lock.h"

#include <unistd.h>

#include <fstream>

#include "fuzz.h"

// A lock that somebody has left: it is refused, or taken over, asked for and let go again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  static const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("darope-fuzz-lock-" + std::to_string(::getpid()));
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(data), std::streamsize(size));
  may_refuse([&] { refuse_held(file); });
  may_refuse([&] {
    const Lock lock(file, "fuzzing");
    bool refused = false;
    try {
      refuse_held(file);
    } catch (const Error&) {
      refused = true;
    }
    must(refused);
  });
  return 0;
}
