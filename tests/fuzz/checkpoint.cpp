#include <unistd.h>

#include <fstream>
#include <string>

#include "base/files.h"
#include "base/sha256.h"
#include "fuzz.h"
#include "runs/checkpoint_dir.h"
#include "runs/run_folder.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, std::string_view text) { std::ofstream(file, std::ios::binary) << text; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// A folder of this process that holds the other files of a checkpoint.
const fs::path& folder() {
  static const fs::path made = [] {
    const fs::path at = fs::temp_directory_path() / ("darope-fuzz-" + std::to_string(::getpid())) /
                        RunFolder("").checkpoints() / "0000000008";
    fs::create_directories(at);
    for (const char* name : {kModelFile, kOptimizerFile}) write(at / name, "abc");
    return at;
  }();
  return made;
}

}  // namespace
}  // namespace darope

// A checkpoint's manifest, a zero byte, and its train_state.json; in the manifest ABC stands for the hash of
// "abc" and STATE for that of train_state.json.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string state = input.substr(std::min(end + 1, input.size()));
  const std::string manifest =
      replaced(replaced(input.substr(0, end), "STATE", sha256(state)), "ABC", sha256("abc"));
  write(folder() / "MANIFEST.json", manifest);
  write(folder() / kTrainStateFile, state);
  const auto problem = checkpoint_problem(folder(), Verify::kHashes);  // never throws
  must(problem || state.find('8') != state.npos);
  return 0;
}
