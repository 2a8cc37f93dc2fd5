#pragma once
#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"

namespace darope {

// A folder for a trial, gone when the trial is over.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / fmt::format("darope-dry-run-{}", getpid())) { make_directories(path_); }
  ~Scratch() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace darope
