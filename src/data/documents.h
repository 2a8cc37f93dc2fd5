#pragma once
#include <filesystem>

#include "data/config.h"
#include "data/dataset.h"
#include "data/text/tokenizer.h"

namespace darope {

// Texts that a model is asked about, whatever it was trained on: the test split of a prepared dataset, or
// files of .txt and .jsonl, plain or packed, in the order of their names. An empty source: the model's own
// data.
class Documents {
 public:
  // An Error where the source is of another tokenizer than the data that `trained` names, or that is no text.
  Documents(const std::filesystem::path& source, const DataConfig& trained);
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  std::string name() const;  // of the source

  void each_text(const std::function<void(std::string_view)>& use) const;
  // Begin, tokens and end of each, as prepared text has them.
  void each_tokens(const std::function<void(std::vector<int64_t>)>& use) const;

 private:
  std::filesystem::path source_;
  bool prepared_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

// The first `most` documents that have length + 1 tokens or more, cut to that: each is an example, and a
// cluster. An Error where fewer than two are that long.
std::shared_ptr<const TestSet> long_documents(const Documents& documents, int64_t length, int64_t most);

}  // namespace darope
