#include "data/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/sha256.h"
#include "data/text/ranks.h"
#include "data/text/split.h"
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
  std::optional<int64_t> begin_of_document() const override { return std::nullopt; }
  int64_t end_of_document() const override { return kEndOfDocument; }
};

class RankTokenizer final : public Tokenizer {
 public:
  RankTokenizer(SplitRule split, Ranks ranks) : split_(split), ranks_(std::move(ranks)) {}

  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> out;
    out.reserve(text.size() / 3);
    while (!text.empty()) {
      const std::string_view piece = split_(text);
      ranks_.encode(piece, out);
      text.remove_prefix(piece.size());
    }
    return out;
  }
  std::string decode(std::span<const int64_t> ids) const override {
    std::string out;
    for (const int64_t id : ids)
      if (id < ranks_.size()) out += ranks_.token(id);
    return out;
  }
  int64_t vocabulary() const override { return ranks_.size() + kSpecials; }
  std::optional<int64_t> begin_of_document() const override { return ranks_.size(); }
  int64_t end_of_document() const override { return ranks_.size() + 1; }

 private:
  static constexpr int64_t kSpecials = 256;
  SplitRule split_;
  Ranks ranks_;
};

struct Published {
  std::string_view name;
  SplitRule split;
  std::string_view sha256;  // of the rank file that tiktoken loads under this name
};
constexpr std::array<Published, 2> kPublished = {
    {{"cl100k", split_cl100k, "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"},
     {"r50k", split_r50k, "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"}}};

}  // namespace

std::shared_ptr<const Tokenizer> find_tokenizer(std::string_view name, const std::filesystem::path& ranks,
                                                std::string_view sha256) {
  if (name == "bytes") return std::make_shared<ByteTokenizer>();
  const auto found = std::ranges::find(kPublished, name, &Published::name);
  if (found == kPublished.end()) throw Error(unknown_name("tokenizer", name, {"bytes", "cl100k", "r50k"}));
  const std::string text = read_file(ranks);
  if (!sha256.empty() && darope::sha256(text) != sha256)
    throw Error(
        fmt::format("{} is not the rank file with which the text was prepared: its sha256 should be {}",
                    ranks.string(), sha256));
  return std::make_shared<RankTokenizer>(found->split, Ranks::parse(text, ranks.string()));
}

std::string tokenizer_of_ranks(const std::filesystem::path& ranks) {
  for (const Published& each : kPublished) {
    if (!ranks.filename().string().starts_with(each.name)) continue;
    if (const std::string hash = sha256_of_file(ranks); hash != each.sha256)
      throw Error(
          fmt::format("{} is not the published {}_base.tiktoken: its sha256 is {}, not {}; a rank file "
                      "of your own needs another name",
                      ranks.string(), each.name, hash, each.sha256));
    return std::string(each.name);
  }
  return "cl100k";
}

}  // namespace darope
