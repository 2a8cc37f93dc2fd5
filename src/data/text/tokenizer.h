#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// Between text and the ids a model reads. A dataset of text names its tokenizer; other data has none.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;  // one document, without its end
  virtual std::string decode(std::span<const int64_t> ids) const = 0;    // the end of a document is no text
  virtual int64_t vocabulary() const = 0;
  virtual int64_t end_of_document() const = 0;
};

std::shared_ptr<const Tokenizer> find_tokenizer(std::string_view name);  // "bytes"

}  // namespace darope
