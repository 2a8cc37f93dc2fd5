#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace darope {

// Text as bytes: ids 0..255 and, behind every document of a .jsonl, the end-of-document id. A .txt is one
// document without it.
inline constexpr int64_t kEndOfDocument = 256, kByteVocabulary = 257;

inline constexpr int64_t kMostIds = int64_t{1} << 32;  // of any vocabulary

// What a file or a folder held, for people.
struct Contents {
  int64_t files = 1, documents = 1, bytes = 0;
  std::vector<std::string> skipped = {};  // files of the folder that are no text
};

// Tokens of one file or folder, wherever they lie: mapped from the disk, or decoded in memory.
class TokenSource {
 public:
  struct Part {
    int64_t begin, end;
  };

  // `tokens` are little-endian integers of `width` bytes that live in `owner`.
  TokenSource(std::string name, std::shared_ptr<const void> owner, std::span<const std::byte> tokens,
              int width, bool is_signed);

  int64_t vocabulary() const { return vocabulary_; }  // every id read() gives is below this
  int64_t size() const { return int64_t(tokens_.size()) / width_; }
  void read(int64_t offset, std::span<int64_t> out) const;
  const std::vector<int64_t>& document_starts() const { return document_starts_; }  // rising, from 0
  std::string sha256() const;  // of the file they were read from; of the tokens of a folder
  const Contents& contents() const { return contents_; }
  TokenSource of_parts(const std::vector<Part>& parts) const;  // one after the other, each a document

  void set_contents(Contents contents) { contents_ = std::move(contents); }
  void set_file(std::shared_ptr<const MappedFile> file) { file_ = std::move(file); }
  void set_vocabulary(int64_t vocabulary) { vocabulary_ = vocabulary; }
  void set_document_starts(std::vector<int64_t> starts) { document_starts_ = std::move(starts); }
  int64_t largest_id() const;  // one pass over everything

 private:
  int64_t id_at(int64_t index) const;

  std::string name_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> tokens_;
  int width_;
  bool signed_;
  int64_t vocabulary_ = INT64_MAX;
  std::vector<int64_t> document_starts_ = {0};
  Contents contents_;
};

// Reads by the file's name:
//   .bin                       llm.c's header and uint16 or uint32, or else nanoGPT's raw uint16
//   .npy                       NumPy's integers, C order, any shape, read flat
//   .txt .jsonl(.gz|.zst|.xz)  bytes (above); each line of .jsonl is an object with `text` or
//   `content`
//   any other name             text, as .txt
//   a folder                   its texts in the order of their names, the end of the document behind each;
//                              what is no text, and what has a hidden name, is passed over
// The vocabulary is the one given, else that of bytes, or for .bin and .npy "vocab_size" of a meta.json
// beside the file, else the largest id + 1, which takes a pass over the file.
bool holds_ids(const std::filesystem::path& path);  // .bin or .npy
TokenSource open_tokens(const std::filesystem::path& path, std::optional<int64_t> vocabulary = std::nullopt);

// The same from bytes that live in `owner`, with any vocabulary; `name` stands in the messages.
TokenSource parse_bin(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                      const std::string& name);

}  // namespace darope
