#pragma once
#include "data/prepared/prepared_data.h"

namespace darope {

// What a prepared dataset holds, counted in its files. A run is `kRun` values in a row.
struct SplitAudit {
  int64_t items = 0, sequences = 0, values = 0;
  int64_t distinct_values = 0;     // of the tokens a model reads, before augmentation
  int64_t repeats = 0;             // sequences that an earlier one of the split equals
  int64_t sequences_in_train = 0;  // of validation and test
  int64_t runs = 0,
          runs_in_train = 0;  // side by side in validation and test; those that stand anywhere in train
};

struct Audit {
  static constexpr int64_t kRun = 64;
  std::vector<std::string> damaged;      // files whose hash is not the manifest's
  std::vector<std::string> items_twice;  // in more than one split
  std::array<SplitAudit, 3> splits;

  bool sound() const { return damaged.empty() && items_twice.empty(); }
};

Audit audit(const std::filesystem::path& folder);

}  // namespace darope
