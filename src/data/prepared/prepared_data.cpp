#include "data/prepared/prepared_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace darope {

namespace fs = std::filesystem;

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
