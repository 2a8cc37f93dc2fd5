#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "fuzz.h"

// Runs a fuzz target over every file of the folders given: what libFuzzer's driver does, for compilers
// without it.
int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      const std::string text = darope::read_file(entry.path());
      const std::vector<uint8_t> exact(text.begin(), text.end());  // so that one byte too far is noticed
      std::fprintf(stderr, "%s\n", entry.path().c_str());          // the last line names the culprit
      LLVMFuzzerTestOneInput(exact.data(), exact.size());
      ++files;
    }
  std::printf("%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
