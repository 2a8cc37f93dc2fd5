#pragma once
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/token_file.h"

namespace darope {

enum class Split { train, validation, test };
inline constexpr std::array<std::string_view, 3> kSplitNames = {"train", "validation", "test"};
inline constexpr std::string_view name_of(Split split) { return kSplitNames[size_t(split)]; }
Split find_split(std::string_view name);

// A prepared dataset is a folder:
//   <split>.npy          the sequences of the split end to end, 1-D, uint8, uint16 or uint32
//   <split>.starts.npy   int64: where each begins, and where the last ends
//   manifest.json        what follows; written last, so that a folder that has one is whole
struct FileFacts {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
};

// What belongs together and stays in one split: a piece, a performance, a chromosome, a night.
struct Item {
  std::string id;
  int64_t sequences = 0;
};

struct Skipped {
  std::string name, reason;
  std::optional<int64_t> offset;  // of the byte that is wrong
};

struct SplitFacts {
  int64_t sequences = 0, values = 0, shortest = 0, longest = 0;
  std::array<FileFacts, 2> files;  // <split>.npy, <split>.starts.npy
  std::vector<Item> items;
};

struct Manifest {
  static constexpr int64_t kFormat = 2, kFirstFormat = 1;  // the second is sealed
  std::string kind;
  int64_t vocabulary = 0;  // of the tokens a model reads
  int64_t stored_values =
      0;  // every value in the files is below this; where tokens are stored: the vocabulary
  std::string tokenizer = {};           // of a text; empty: the tokens are no text
  std::optional<FileFacts> ranks = {};  // of a tokenizer that has them: the copy of its rank file
  nlohmann::ordered_json options = nlohmann::ordered_json::object(), facts = nlohmann::ordered_json::object();
  std::array<SplitFacts, 3> splits;
  std::vector<FileFacts> sources;
  std::vector<Skipped> skipped;

  const SplitFacts& operator[](Split split) const { return splits[size_t(split)]; }
  SplitFacts& operator[](Split split) { return splits[size_t(split)]; }
};

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kRanksFile = "tokenizer.tiktoken";  // in the folder of a text, where it has one

std::string to_json(const Manifest& manifest);
Manifest parse_manifest(std::string_view text,
                        const std::string& where);  // an Error for anything to_json does not write
Manifest read_manifest(const std::filesystem::path& folder);
bool is_prepared(const std::filesystem::path& folder);  // it has a manifest

}  // namespace darope
