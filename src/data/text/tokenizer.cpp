#include "data/text/tokenizer.h"

#include "base/error.h"
#include "base/names.h"
#include "data/text/token_file.h"

namespace darope {
namespace {

class ByteTokenizer final : public Tokenizer {
 public:
  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> out;
    out.reserve(text.size());
    for (const char c : text) out.push_back(static_cast<unsigned char>(c));
    return out;
  }
  std::string decode(std::span<const int64_t> ids) const override {
    std::string out;
    for (const int64_t id : ids)
      if (id != kEndOfDocument) out += char(id);
    return out;
  }
  int64_t vocabulary() const override { return kByteVocabulary; }
  int64_t end_of_document() const override { return kEndOfDocument; }
};

}  // namespace

std::shared_ptr<const Tokenizer> find_tokenizer(std::string_view name) {
  if (name == "bytes") return std::make_shared<ByteTokenizer>();
  throw Error(unknown_name("tokenizer", name, {"bytes"}));
}

}  // namespace darope
