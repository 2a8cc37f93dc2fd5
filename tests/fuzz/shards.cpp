#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "data/prepared/sequences.h"
#include "fuzz.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("darope-shards-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

FileFacts write_npy(const fs::path& folder, const std::string& name, const std::string& type, int64_t count,
                    std::string_view numbers) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }";
  header.append(63 - (10 + header.size()) % 64, ' ') += '\n';
  std::string file("\x93NUMPY\1\0", 8);
  file += char(header.size() & 0xFF);
  file += char(header.size() >> 8);
  file.append(header).append(numbers);
  std::ofstream(folder / name, std::ios::binary) << file;
  return {name, int64_t(file.size()), ""};
}

// The sequences lie end to end, and each is read whole and in part.
void read_all(const Sequences& sequences, int64_t values) {
  int64_t sum = 0;
  for (int64_t i = 0; i < sequences.size(); ++i) {
    const int64_t length = sequences.length(i);
    const Tokens whole = sequences.read(i);
    must(length >= 2 && int64_t(whole.size()) == length);
    must(sequences.read(i, 1, length - 1) == Tokens(whole.begin() + 1, whole.end()));
    sum += length;
  }
  must(sum == values && sequences.stream().size() == values);
}

}  // namespace
}  // namespace darope

// The first byte says how many values there are, the rest where sequences begin: a manifest says the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace darope;
  if (size < 1 + sizeof(int64_t)) return 0;
  static const Folder place;
  const fs::path& folder = place.path;
  const int64_t values = data[0], starts = int64_t((size - 1) / sizeof(int64_t));
  const std::string_view numbers(reinterpret_cast<const char*>(data) + 1, size_t(starts) * sizeof(int64_t));
  Manifest manifest;
  manifest.kind = "text";
  manifest.vocabulary = manifest.stored_values = 256;
  SplitFacts& facts = manifest[Split::train];
  facts.sequences = starts - 1, facts.values = values;
  facts.files = {write_npy(folder, "train.npy", "|u1", values, std::string(size_t(values), '\7')),
                 write_npy(folder, "train.starts.npy", "<i8", starts, numbers)};
  may_refuse([&] { read_all(Sequences(folder, manifest, Split::train), values); });
  return 0;
}
