#pragma once
#include <cstdlib>
#include <string>

#include "base/files.h"

namespace darope {

// A folder for a trial, gone when the trial is over.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "darope-dry-run-XXXXXX";
    if (!::mkdtemp(name.data())) fail_on("create", name);
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace darope
