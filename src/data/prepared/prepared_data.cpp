#include "data/prepared/prepared_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/text/npy.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

TokenSource open_values(const fs::path& folder, const FileFacts& facts, int64_t below) {
  if (facts.name != fs::path(facts.name).filename() || !facts.name.ends_with(".npy"))
    throw Error(fmt::format("{}: its manifest names a file {}; it should be a .npy file in that folder",
                            folder.string(), facts.name));
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
    if (i == 0 ? start != 0 : start < before + 2)
      throw Error(fmt::format(
          "{}.starts.npy: entry {} is {}; it should begin at 0 and leave each sequence two values", name_, i,
          start));
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

std::shared_ptr<const Tokenizer> tokenizer_of(const Manifest& manifest, const fs::path& folder) {
  if (manifest.tokenizer.empty()) return nullptr;
  if (!manifest.ranks) return find_tokenizer(manifest.tokenizer, folder / kRanksFile);
  return find_tokenizer(manifest.tokenizer, folder / kRanksFile, manifest.ranks->sha256);
}

PreparedData::PreparedData(const fs::path& folder)
    : manifest(read_manifest(folder)),
      kind(find_kind(manifest.kind)),
      tokenizer(tokenizer_of(manifest, folder)) {
  const int64_t promised = tokenizer      ? tokenizer->vocabulary()
                           : kind.present ? manifest.vocabulary
                                          : manifest.stored_values;
  if (manifest.vocabulary != promised)
    throw Error(fmt::format("{}: its manifest has a vocabulary of {}; {} has {}: prepare the data again",
                            folder.string(), manifest.vocabulary,
                            tokenizer ? "its tokenizer" : "what it stores", promised));
  if (!kind.show && !tokenizer)
    throw Error(fmt::format("{}: {} is text, and its manifest names no tokenizer: prepare the data again",
                            folder.string(), kind.name));
  for (const std::string_view name : kSplitNames) splits.emplace_back(folder, manifest, find_split(name));
}

Tokens PreparedData::present(Split split, int64_t index, Random* random) const {
  Tokens stored = (*this)[split].read(index);
  if (!kind.present) return stored;
  Tokens out = kind.present(std::move(stored), random);
  const auto most = std::max_element(out.begin(), out.end());
  if (most != out.end() && *most >= manifest.vocabulary)
    throw Error(
        fmt::format("{} {} has the token {}, outside its manifest's vocabulary of {}: prepare the data again",
                    name_of(split), index, *most, manifest.vocabulary));
  return out;
}

std::string PreparedData::show(Split split, int64_t index) const {
  const Tokens stored = (*this)[split].read(index);
  return kind.show ? kind.show(stored) : tokenizer->decode(stored) + "\n";
}

std::vector<int64_t> PreparedData::clusters(Split split) const {
  std::vector<int64_t> out;
  int64_t cluster = -1;
  for (const Item& item : manifest[split].items) {
    int64_t before = -1;
    for (int64_t i = 0; i < item.sequences; ++i) {
      const int64_t part = kind.part ? kind.part(i) : 0;
      cluster += part != before;
      before = part;
      out.push_back(cluster);
    }
  }
  return out;
}

std::vector<int64_t> PreparedData::n_free(Split split) const {
  std::vector<int64_t> out;
  if (!manifest.facts.contains("n_free")) return out;
  const auto& ranges = manifest.facts["n_free"];
  const std::string name(name_of(split));
  if (!ranges.is_object() || !ranges.contains(name) || !ranges[name].is_array())
    throw Error("manifest.json: n_free should list ranges for " + name);
  for (const auto& range : ranges[name]) {
    const bool pair =
        range.is_array() && range.size() == 2 && range[0].is_number_integer() && range[1].is_number_integer();
    if (!pair || range[0] < (out.empty() ? 0 : out.back() + 1) || range[1] < range[0] ||
        range[1] >= manifest[split].sequences)
      throw Error(
          fmt::format("manifest.json: n_free has {} for {}; ranges should be pairs, rise and stay below {}",
                      range.dump().substr(0, 60), name, manifest[split].sequences));
    for (int64_t i = range[0].get<int64_t>(); i <= range[1].get<int64_t>(); ++i) out.push_back(i);
  }
  return out;
}

}  // namespace darope
