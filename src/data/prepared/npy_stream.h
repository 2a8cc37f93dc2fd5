#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace darope {

// A .npy file of one dimension whose length is known only at its end: room is kept for the header, which
// close() fills.
class NpyStream {
 public:
  NpyStream(const std::filesystem::path& path, std::string descr, int64_t width);  // "<u2", 2
  void write(std::span<const std::byte> values);
  void close();  // durable once it returns
  const std::filesystem::path& path() const { return path_; }

 private:
  void flush();

  std::filesystem::path path_;
  std::string descr_;
  int64_t width_, bytes_ = 0;
  Descriptor file_;
  std::vector<std::byte> buffer_;
};

}  // namespace darope
