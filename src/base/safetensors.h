#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"

namespace darope {

// Tensors on disk, as the safetensors format has them: u64 header length | JSON header | data, all
// little-endian.

// In the order in which the reference writer lays tensors out.
enum class Dtype {
  kU64,
  kI64,
  kF64,
  kC64,
  kF32,
  kU32,
  kI32,
  kBF16,
  kF16,
  kU16,
  kI16,
  kF8_E5M2FNUZ,
  kF8_E4M3FNUZ,
  kF8_E8M0,
  kF8_E4M3,
  kF8_E5M2,
  kI8,
  kU8,
  kF6_E3M2,
  kF6_E2M3,
  kF4,
  kBOOL,
};
std::string_view dtype_name(Dtype dtype);  // "BF16"
int64_t dtype_bits(Dtype dtype);

// A tensor to write. bytes() is called once, in the file's order, and its span is read before the next call:
// whoever copies from a GPU needs room for one tensor, not for all.
struct TensorToWrite {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;
  std::function<std::span<const std::byte>()> bytes;
};
// The same tensors give the same bytes, in whatever order they come: those of the reference writer.
// The metadata is {"format": "pt"}, which stock readers ask for, and never a time or a path.
void write_safetensors(FileWriter& out, std::vector<TensorToWrite> tensors);

struct TensorView {
  std::string name;
  Dtype dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // not aligned
};
struct TensorViews {
  std::vector<TensorView> tensors;  // in the file's order
  std::map<std::string, std::string> metadata;
};
// Checks the whole header against the file before it returns anything; views point into `file`.
TensorViews parse_safetensors(std::span<const std::byte> file, const std::string& where);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  const std::vector<TensorView>& tensors() const { return views_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return views_.metadata; }
  const TensorView& at(const std::string& name) const;  // Error with the nearest name if there is none

 private:
  std::string path_;
  MappedFile file_;
  TensorViews views_;
};

}  // namespace darope
