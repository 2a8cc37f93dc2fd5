#pragma once
#include "data/prepared/kind.h"
#include "data/prepared/manifest.h"
#include "data/text/token_file.h"

namespace darope {

// One split of a prepared dataset, mapped from the disk.
class Sequences {
 public:
  Sequences(const std::filesystem::path& folder, const Manifest& manifest, Split split);
  int64_t size() const { return starts_.size() - 1; }
  Tokens read(int64_t index) const { return read(index, INT64_MAX); }
  Tokens read(int64_t index, int64_t most) const;  // its first `most` values
  Tokens read(int64_t index, int64_t first,
              int64_t count) const;  // `count` of them from `first` on, which must be there
  int64_t length(int64_t index) const;
  TokenSource stream() const;  // all of it end to end, each sequence a document

 private:
  std::array<int64_t, 2> ends(int64_t index) const;

  std::string name_;
  TokenSource values_, starts_;
};

}  // namespace darope
