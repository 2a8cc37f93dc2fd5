#pragma once
#include <optional>

#include "base/files.h"
#include "base/json.h"

namespace darope {

// metrics.jsonl: one object per line, in the order its keys were set, each line whole in the file before
// write() returns.
class MetricsLog {
 public:
  // A resumed run continues behind its checkpoint's step: lines of later steps and a torn line go, so that
  // a killed and an undisturbed run end with the same lines.
  MetricsLog(const std::filesystem::path& path, std::optional<int64_t> resumed_from);
  // JSON has no NaN: a value that is not finite becomes null, and the line gains "nonfinite": true.
  void write(nlohmann::ordered_json line);
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
};

}  // namespace darope
