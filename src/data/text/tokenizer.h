#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// Between text and the ids a model reads. A dataset of text names its tokenizer; other data has none.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int64_t> encode(
      std::string_view text) const = 0;                                // of a document, without begin and end
  virtual std::string decode(std::span<const int64_t> ids) const = 0;  // begin and end are no text
  virtual int64_t vocabulary() const = 0;
  virtual std::optional<int64_t> begin_of_document() const = 0;  // before each; bytes have none
  virtual int64_t end_of_document() const = 0;                   // behind each
};

// "bytes", or how text is split before bytes are merged by the ranks of a file: "cl100k" or "r50k". As in
// Lingua, 256 ids follow the ranks, of which the first two are the begin and end of a document. `sha256` is
// of the file that text was prepared with; empty: any will do.
std::shared_ptr<const Tokenizer> find_tokenizer(std::string_view name,
                                                const std::filesystem::path& ranks = {},
                                                std::string_view sha256 = "");

// The name of the tokenizer that a rank file is for, by the name of the file: r50k* and cl100k* must be the
// published ones, byte for byte; any other is split as cl100k is.
std::string tokenizer_of_ranks(const std::filesystem::path& ranks);

}  // namespace darope
