#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace darope {

class Preparation;
using Tokens = std::vector<int64_t>;

struct PrepareRequest {
  std::filesystem::path source, out;
  uint64_t seed = 0;                                     // of the split, where the publisher gives none
  std::string channel = {};                              // of signals, by its label
  std::vector<std::filesystem::path> more_sources = {};  // of text, behind the first
  std::filesystem::path ranks = {};                      // of text: a rank file; none: bytes
  double held_out = 0.05;                                // of text: this share validates, and as much tests
  bool keep_short = false;                               // of midi: pieces shorter than a sequence should be
};

// A kind of dataset: a file of its name (define.h), and a line in kinds.cpp. What depends on the data, its
// vocabulary above all, is not here but in the manifest that `prepare` makes.
struct Kind {
  std::string_view name, source;                   // what SOURCE should be
  std::span<const std::string_view> endings = {};  // of files that are of this kind, and no text
  std::string_view items = "items";                // what they are to people
  void (*prepare)(const PrepareRequest& request, Preparation& out);
  // A sequence for people, lines with their ends. Null: text, as the dataset's tokenizer decodes it.
  std::string (*show)(std::span<const int64_t> stored) = nullptr;
  // What a token that a model reads is called; null: its number. And the file of music that tokens are.
  std::string (*word)(int64_t token) = nullptr;
  std::string (*midi)(std::span<const int64_t> tokens) = nullptr;
  // What a model reads of a stored sequence. Null: the values as they are stored. `random` is null in
  // validation and test, else the stream of this one presentation, from which an augmentation is drawn.
  Tokens (*present)(Tokens stored, Random* random) = nullptr;
  int64_t presented = 0;  // tokens that `present` makes of any sequence; 0: as many as are stored
  bool windows = false;   // sequences are long: models read windows of them
  // Which part of its item a sequence belongs to; scores of one part are one witness. Null: the item is one.
  int64_t (*part)(int64_t sequence) = nullptr;
  bool text = false;  // sequences are documents, of any number of sources; models read windows of the stream
                      // of them, and an item is a file, whose documents may lie in several splits
};

template <class Definition>
Kind kind_of();
const std::vector<Kind>& all_kinds();
const Kind& find_kind(std::string_view name);

// An Error where a file, or most of a folder's, are of a kind by their endings: they are no text.
void refuse_files_of_kinds(const std::filesystem::path& source);

}  // namespace darope
