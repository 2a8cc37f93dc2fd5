#include "data/prepared/sequences.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "data/text/npy.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

TokenSource open_values(const fs::path& folder, const FileFacts& facts, int64_t below) {
  if (facts.name != fs::path(facts.name).filename() || !facts.name.ends_with(".npy"))
    throw Error(fmt::format("{}: its manifest names a file {}; it should be a .npy file in that folder",
                            folder.string(), shown(facts.name)));
  const fs::path path = folder / facts.name;
  const auto file = std::make_shared<const MappedFile>(path);
  if (const auto bytes = int64_t(file->bytes().size()); bytes != facts.bytes)
    throw Error(fmt::format("{} has {} bytes; its manifest says {}: prepare the data again", path.string(),
                            bytes, facts.bytes));
  TokenSource source = parse_npy(file, file->bytes(), path.string());
  source.set_vocabulary(below);
  return source;
}

}  // namespace

Sequences::Sequences(const fs::path& folder, const Manifest& manifest, Split split)
    : name_((folder / name_of(split)).string()),
      values_(open_values(folder, manifest[split].files[0], manifest.stored_values)),
      starts_(open_values(folder, manifest[split].files[1], INT64_MAX)) {
  const SplitFacts& facts = manifest[split];
  if (values_.size() != facts.values || starts_.size() - 1 != facts.sequences)
    throw Error(fmt::format("{}: {} values and {} starts; its manifest says {} and one more than {}", name_,
                            values_.size(), starts_.size(), facts.values, facts.sequences));
  int64_t before = 0;
  for (int64_t i = 0; i < starts_.size(); ++i) {
    int64_t start = 0;
    starts_.read(i, {&start, 1});
    if (i == 0 ? start != 0 : start < before + 2 || start > values_.size())
      throw Error(
          fmt::format("{}.starts.npy: entry {} is {}; it should begin at 0, leave each sequence two values "
                      "and end with them",
                      name_, i, start));
    before = start;
  }
  if (before != values_.size())
    throw Error(fmt::format("{}.starts.npy ends at {} of {} values", name_, before, values_.size()));
}

std::array<int64_t, 2> Sequences::ends(int64_t index) const {
  if (index < 0 || index >= size())
    throw Error(fmt::format("{} has {} sequences, from 0 on; there is no {}", name_, size(), index));
  std::array<int64_t, 2> out{};
  starts_.read(index, out);
  return out;
}

int64_t Sequences::length(int64_t index) const {
  const auto [begin, end] = ends(index);
  return end - begin;
}

TokenSource Sequences::stream() const {
  TokenSource out = values_;
  Tokens starts(static_cast<size_t>(size()));
  starts_.read(0, starts);
  out.set_document_starts(std::move(starts));
  return out;
}

Tokens Sequences::read(int64_t index, int64_t most) const {
  return read(index, 0, std::min(most, length(index)));
}

Tokens Sequences::read(int64_t index, int64_t first, int64_t count) const {
  const auto [begin, end] = ends(index);
  if (first < 0 || count < 0 || first > end - begin - count)
    throw Error(fmt::format("{}: sequence {} has {} values; there are no {} from {} on", name_, index,
                            end - begin, count, first));
  Tokens out(static_cast<size_t>(count));
  values_.read(begin + first, out);
  return out;
}

}  // namespace darope
