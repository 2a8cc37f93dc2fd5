#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/text/token_file.h"

namespace darope {

// NumPy's files, both ways.

// Integers of any shape in C order, read flat, from bytes that live in `owner`; `name` stands in the
// messages.
TokenSource parse_npy(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                      const std::string& name);

// A file of one dimension whose length is known only at its end: room is kept for the header, which close()
// fills.
class NpyWriter {
 public:
  NpyWriter(const std::filesystem::path& path, std::string descr);  // "<u2"
  void write(std::span<const std::byte> values);
  void close();  // durable once it returns
  const std::filesystem::path& path() const { return path_; }

 private:
  void flush();

  std::filesystem::path path_;
  std::string descr_;
  int64_t bytes_ = 0;
  Descriptor file_;
  std::vector<std::byte> buffer_;
};

}  // namespace darope
