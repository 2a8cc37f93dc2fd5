#pragma once
#include <filesystem>

#include "base/files.h"
#include "bench/bench.h"

namespace darope {

// A row of the table, of JSON lines and of CSV.
struct Result {
  std::string bench, size, encoding, what, who = "darope";
  int64_t batch = 1, length = 1;
  Rounds rounds;
  double tokens = 0, floor = 0;  // of a call; seconds
  Cost cost;
  double ratio = 0;  // its time over that of what it is compared with; 0: nothing
};

// Of the run that all rows share.
struct Conditions {
  std::string date, machine, torch, cuda, commit, dtype;
  Speeds speeds;
};
Conditions conditions_now(at::Device device, at::ScalarType type);

std::string table_head();
std::string table_line(const Result& result);
std::string json_line(const Result& result, const Conditions& conditions);

// Rows behind those that are there. An Error where the file has other columns, or cannot be written.
class CsvFile {
 public:
  explicit CsvFile(const std::filesystem::path& path);
  void append(const Result& result, const Conditions& conditions);

 private:
  AppendFile file_;
};

}  // namespace darope
