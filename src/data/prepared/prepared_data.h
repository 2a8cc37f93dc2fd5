#pragma once
#include "data/prepared/sequences.h"
#include "data/text/tokenizer.h"

namespace darope {

// How the ids of a prepared dataset stand for text; null where they do not.
std::shared_ptr<const Tokenizer> tokenizer_of(const Manifest& manifest, const std::filesystem::path& folder);

// A prepared folder. Opening it checks the manifest, the sizes of its files and that the starts rise; audit
// checks the hashes.
struct PreparedData {
  explicit PreparedData(const std::filesystem::path& folder);
  const Sequences& operator[](Split split) const { return splits[size_t(split)]; }
  // What a model reads of a sequence, by the kind and with its augmentation where `random` is not null.
  Tokens present(Split split, int64_t index, Random* random) const;
  std::string show(Split split, int64_t index) const;  // for people, lines with their ends
  std::vector<int64_t> n_free(Split split) const;      // sequences a genome's manifest lists so; else none
  std::vector<int64_t> clusters(
      Split split) const;  // of each sequence, counted from 0: its item, or part of it

  Manifest manifest;
  const Kind& kind;
  std::shared_ptr<const Tokenizer> tokenizer;  // null: the tokens are no text
  std::vector<Sequences> splits;
};

}  // namespace darope
