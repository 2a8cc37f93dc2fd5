#include "data/documents.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/open.h"
#include "data/prepared/prepared_data.h"
#include "data/prepared/source_files.h"
#include "data/text/jsonl.h"
#include "data/text/plain_text.h"
#include "data/token_windows.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestUncut = 64 << 20;  // bytes of text without a space
constexpr int64_t kFewest = 2;              // documents; one has no other to differ from
const std::vector<std::string_view> kEndings = {".txt",   ".txt.gz",   ".txt.zst",   ".txt.xz",
                                                ".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz"};

// Equal for folders whose ids mean the same text.
std::string tokenizer_words(const fs::path& folder) {
  if (!is_prepared(folder)) return "bytes";
  const Manifest manifest = read_manifest(folder);
  return manifest.ranks ? fmt::format("{} of the rank file {}", manifest.tokenizer, manifest.ranks->sha256)
                        : manifest.tokenizer;
}

// The examples of long_documents().
class LongDocuments final : public TestSet {
 public:
  explicit LongDocuments(std::vector<Tokens> documents) : documents_(std::move(documents)) {}
  int64_t size() const override { return int64_t(documents_.size()); }
  Batch read(int64_t first, int64_t count) const override {
    return pack_windows({documents_.begin() + first, documents_.begin() + first + count});
  }

 private:
  std::vector<Tokens> documents_;
};

}  // namespace

Documents::Documents(const fs::path& source, const DataConfig& trained)
    : source_(source.empty() ? fs::path(trained.root_dir) : source), prepared_(is_prepared(source_)) {
  tokenizer_ = tokenizer_of(trained);
  if (!tokenizer_ || !trained.task.empty())
    throw Error(fmt::format("{} is no text, so there are no documents to read: train on text",
                            dataset_name(trained)));
  if (source_.empty())
    throw Error("--documents is not given, and the run's own data are one file: name texts");
  if (prepared_ && tokenizer_words(source_) != tokenizer_words(trained.root_dir))
    throw Error(
        fmt::format("{} was prepared with {}, the run's data with {}: prepare it with the same --tokenizer",
                    source_.string(), tokenizer_words(source_), tokenizer_words(trained.root_dir)));
}

std::string Documents::name() const {
  const fs::path path = source_.has_filename() ? source_ : source_.parent_path();
  return prepared_ ? path.filename().string() : path.stem().stem().string();
}

void Documents::each_text(const std::function<void(std::string_view)>& use) const {
  if (prepared_) {
    const PreparedData data(source_);
    for (int64_t i = 0; i < data[Split::test].size(); ++i) use(tokenizer_->decode(data[Split::test].read(i)));
    return;
  }
  for (const SourceFile& file : source_files(source_, kEndings)) {
    if (file.path.string().find(".jsonl") != std::string::npos) {
      read_jsonl(file.path, {}, {.document = use});
      continue;
    }
    std::string whole;
    read_plain_text(file.path, {}, kLongestUncut, [&](std::string_view part) { whole += part; });
    use(whole);
  }
}

void Documents::each_tokens(const std::function<void(Tokens)>& use) const {
  if (prepared_) {
    const PreparedData data(source_);
    for (int64_t i = 0; i < data[Split::test].size(); ++i) use(data[Split::test].read(i));
    return;
  }
  each_text([&](std::string_view text) {
    Tokens ids = tokenizer_->encode(text);
    if (const std::optional<int64_t> begin = tokenizer_->begin_of_document()) ids.insert(ids.begin(), *begin);
    ids.push_back(tokenizer_->end_of_document());
    use(std::move(ids));
  });
}

std::shared_ptr<const TestSet> long_documents(const Documents& documents, int64_t length, int64_t most) {
  std::vector<Tokens> kept;
  int64_t seen = 0, longest = 0;
  documents.each_tokens([&](Tokens ids) {
    ++seen;
    longest = std::max(longest, int64_t(ids.size()));
    if (int64_t(ids.size()) <= length || int64_t(kept.size()) == most) return;
    ids.resize(size_t(length) + 1);
    kept.push_back(std::move(ids));
  });
  if (int64_t(kept.size()) < kFewest)
    throw Error(
        fmt::format("{} of the {} documents of {} have the {} tokens that {} positions take, and the longest "
                    "has {}: give "
                    "longer ones (--documents) or fewer positions",
                    kept.size(), seen, documents.name(), length + 1, length, longest));
  return std::make_shared<LongDocuments>(std::move(kept));
}

}  // namespace darope
