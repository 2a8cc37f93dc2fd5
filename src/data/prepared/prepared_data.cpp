#include "data/prepared/prepared_data.h"

#include <fmt/format.h>

#include "base/error.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

TokenSource open_values(const fs::path& folder, const FileFacts& facts, int64_t below) {
  if (facts.name != fs::path(facts.name).filename() || !facts.name.ends_with(".npy"))
    throw Error(fmt::format("{}: its manifest names a file {}; it should be a .npy file in that folder", folder.string(), facts.name));
  const fs::path path = folder / facts.name;
  if (const int64_t bytes = size_of_file(path); bytes != facts.bytes)
    throw Error(fmt::format("{} has {} bytes; its manifest says {}: prepare the data again", path.string(), bytes, facts.bytes));
  return open_tokens(path, below);
}

}  // namespace

Sequences::Sequences(const fs::path& folder, const Manifest& manifest, Split split)
    : name_((folder / name_of(split)).string()), values_(open_values(folder, manifest[split].files[0], manifest.stored_values)),
      starts_(open_values(folder, manifest[split].files[1], INT64_MAX)) {
  const SplitFacts& facts = manifest[split];
  if (values_.size() != facts.values || starts_.size() != facts.sequences + 1)
    throw Error(fmt::format("{}: {} values and {} starts; its manifest says {} and {}", name_, values_.size(), starts_.size(), facts.values,
                            facts.sequences + 1));
  int64_t before = 0;
  for (int64_t i = 0; i < starts_.size(); ++i) {
    int64_t start = 0;
    starts_.read(i, {&start, 1});
    if (i == 0 ? start != 0 : start < before + 2)
      throw Error(fmt::format("{}.starts.npy: entry {} is {}; it should begin at 0 and leave each sequence two values", name_, i, start));
    before = start;
  }
  if (before != values_.size()) throw Error(fmt::format("{}.starts.npy ends at {} of {} values", name_, before, values_.size()));
}

Tokens Sequences::read(int64_t index, int64_t most) const {
  if (index < 0 || index >= size()) throw Error(fmt::format("{} has {} sequences, from 0 on; there is no {}", name_, size(), index));
  std::array<int64_t, 2> ends{};
  starts_.read(index, ends);
  Tokens out(size_t(std::min(most, ends[1] - ends[0])));
  values_.read(ends[0], out);
  return out;
}

PreparedData::PreparedData(const fs::path& folder) : manifest(read_manifest(folder)), kind(find_kind(manifest.kind)) {
  const int64_t stored = kind.stored_values > 0 ? kind.stored_values : kind.vocabulary;
  if (manifest.vocabulary != kind.vocabulary || manifest.stored_values != stored)
    throw Error(fmt::format("{}: vocabulary {} over {} stored values; {} has {} over {}: prepare the data again", folder.string(),
                            manifest.vocabulary, manifest.stored_values, kind.name, kind.vocabulary, stored));
  for (const std::string_view name : kSplitNames) splits.emplace_back(folder, manifest, find_split(name));
}

}  // namespace darope
