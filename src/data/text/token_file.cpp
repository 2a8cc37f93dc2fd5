#include "data/text/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "data/text/jsonl.h"
#include "data/text/npy.h"

namespace darope {
namespace {

static_assert(std::endian::native == std::endian::little,
              "token files are little-endian, and read as they lie");

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool has_zero(std::span<const std::byte> bytes) {
  return std::ranges::find(bytes, std::byte{0}) != bytes.end();
}

void refuse_empty(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.empty()) throw Error(name + " is empty: it should hold tokens");
}

struct LlmcKind {
  int32_t magic, version;
  int width;
};
constexpr std::array<LlmcKind, 2> kLlmc = {{{20240520, 1, 2}, {20240801, 7, 4}}};
constexpr int32_t kLlmcEval = 20240522;
constexpr size_t kLlmcHeader = 256 * sizeof(int32_t);

TokenSource parse_llmc(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                       const std::string& name, const LlmcKind& kind) {
  if (bytes.size() < kLlmcHeader)
    throw Error(fmt::format("{} has {} bytes, fewer than the {} of an llm.c header", name, bytes.size(),
                            kLlmcHeader));
  const int32_t version = load<int32_t>(bytes.data() + 4), count = load<int32_t>(bytes.data() + 8);
  if (version != kind.version)
    throw Error(fmt::format("{} has llm.c magic {} with version {}; version {} belongs to it", name,
                            kind.magic, version, kind.version));
  const std::span<const std::byte> tokens = bytes.subspan(kLlmcHeader);
  if (count < 1 || uint64_t(count) * uint64_t(kind.width) != tokens.size())
    throw Error(fmt::format("{} promises {} tokens of {} bytes but {} bytes follow its header", name, count,
                            kind.width, tokens.size()));
  return {name, std::move(owner), tokens, kind.width, false};
}

// "vocab_size" of a meta.json beside a file of ids, as nanoGPT's preparation scripts know it.
std::optional<int64_t> vocabulary_beside(const std::filesystem::path& path) {
  const std::filesystem::path meta = path.parent_path() / "meta.json";
  if (!std::filesystem::exists(meta)) return std::nullopt;
  const Json json = parse_json(read_file(meta), meta.string());
  const bool sound = json.is_object() && json.contains("vocab_size") &&
                     json["vocab_size"].is_number_integer() && json["vocab_size"] > 0 &&
                     json["vocab_size"] <= kMostIds;
  if (!sound)
    throw Error(
        fmt::format("{} should be an object with a vocab_size from 1 to {}", meta.string(), kMostIds));
  return json["vocab_size"].get<int64_t>();
}

using File = std::shared_ptr<const MappedFile>;

TokenSource bytes_as_tokens(const File& file, const std::string& name) {
  const std::span<const std::byte> bytes = file->bytes();
  refuse_empty(bytes, name);
  for (const char* end : {".gz", ".zst", ".xz"})
    if (name.ends_with(end))
      throw Error(
          fmt::format("{} is packed: unpack it first, or make a dataset of it ('darope data prepare "
                      "text'), which reads .txt{} as it is",
                      name, end));
  if (has_zero(bytes))
    throw Error(
        fmt::format("{} is no plain text: byte {} is zero, as in pictures, archives and UTF-16; give UTF-8 "
                    "text, or ids as .npy",
                    name, std::ranges::find(bytes, std::byte{0}) - bytes.begin()));
  return {name, file, bytes, 1, false};
}

// The bytes of documents end to end, a mark behind each.
class BytesOfDocuments {
 public:
  void add(std::string_view document) {
    starts_.push_back(int64_t(tokens_->size()));
    for (const char c : document) tokens_->push_back(static_cast<unsigned char>(c));
    tokens_->push_back(uint16_t(kEndOfDocument));
  }
  void add_jsonl(std::span<const std::byte> bytes, const std::string& name) {
    parse_jsonl(bytes, name, {}, {.document = [&](std::string_view document) { add(document); }});
  }
  int64_t size() const { return int64_t(starts_.size()); }
  TokenSource source(const std::string& name) const {
    TokenSource out(name, tokens_, std::as_bytes(std::span(*tokens_)), 2, false);
    out.set_document_starts(starts_);
    return out;
  }

 private:
  std::shared_ptr<std::vector<uint16_t>> tokens_ = std::make_shared<std::vector<uint16_t>>();
  std::vector<int64_t> starts_;
};

TokenSource documents_as_tokens(const File& file, const std::string& name) {
  BytesOfDocuments documents;
  documents.add_jsonl(file->bytes(), name);
  if (documents.size() == 0)
    throw Error(name + " holds no document: each line should be an object with `text`");
  return documents.source(name);
}

bool is_jsonl(const std::string& name) {
  const auto known = {".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz"};
  return std::any_of(known.begin(), known.end(), [&](const char* end) { return name.ends_with(end); });
}

// The files of a folder, those with a hidden name left out.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (auto at = std::filesystem::recursive_directory_iterator(folder);
       at != std::filesystem::recursive_directory_iterator(); ++at) {
    const bool hidden = at->path().filename().string().starts_with(".");
    if (hidden && at->is_directory()) at.disable_recursion_pending();
    if (!hidden && at->is_regular_file()) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TokenSource folder_as_tokens(const std::filesystem::path& folder) {
  BytesOfDocuments documents;
  Contents contents{.files = 0};
  for (const std::filesystem::path& path : files_in(folder)) {
    const MappedFile file(path);
    const std::span<const std::byte> bytes = file.bytes();
    if (bytes.empty() || holds_ids(path) || (!is_jsonl(path.string()) && has_zero(bytes))) {
      contents.skipped.push_back(std::filesystem::relative(path, folder).string());
      continue;
    }
    ++contents.files;
    contents.bytes += int64_t(bytes.size());
    if (is_jsonl(path.string()))
      documents.add_jsonl(bytes, path.string());
    else
      documents.add(text_of(bytes));
  }
  if (documents.size() == 0)
    throw Error(folder.string() +
                " is a folder without texts: give one with .txt, .md, .jsonl or other UTF-8 files, or "
                "one that 'darope data prepare' made");
  contents.documents = documents.size();
  TokenSource source = documents.source(folder.string());
  source.set_contents(std::move(contents));
  return source;
}

TokenSource ids_as_tokens(const File& file, const std::string& name) {
  return (name.ends_with(".npy") ? parse_npy : parse_bin)(file, file->bytes(), name);
}

TokenSource file_as_tokens(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto file = std::make_shared<const MappedFile>(path);
  TokenSource source = (holds_ids(path)  ? ids_as_tokens
                        : is_jsonl(name) ? documents_as_tokens
                                         : bytes_as_tokens)(file, name);
  source.set_file(file);
  source.set_contents(
      {.documents = int64_t(source.document_starts().size()), .bytes = int64_t(file->bytes().size())});
  return source;
}

}  // namespace

TokenSource::TokenSource(std::string name, std::shared_ptr<const void> owner,
                         std::span<const std::byte> tokens, int width, bool is_signed)
    : name_(std::move(name)), owner_(std::move(owner)), tokens_(tokens), width_(width), signed_(is_signed) {}

std::string TokenSource::sha256() const { return darope::sha256(file_ ? file_->bytes() : tokens_); }

TokenSource TokenSource::of_parts(const std::vector<Part>& parts) const {
  const auto copied = std::make_shared<std::vector<std::byte>>();
  copied->reserve(tokens_.size());
  std::vector<int64_t> starts;
  for (const Part& part : parts) {
    starts.push_back(int64_t(copied->size()) / width_);
    const auto bytes = tokens_.subspan(size_t(part.begin * width_), size_t((part.end - part.begin) * width_));
    copied->insert(copied->end(), bytes.begin(), bytes.end());
  }
  TokenSource out = *this;
  out.owner_ = copied;
  out.tokens_ = *copied;
  out.document_starts_ = std::move(starts);
  return out;
}

int64_t TokenSource::id_at(int64_t index) const {
  const std::byte* at = tokens_.data() + index * width_;
  switch (width_) {
    case 1:
      return signed_ ? int64_t{load<int8_t>(at)} : int64_t{load<uint8_t>(at)};
    case 2:
      return signed_ ? int64_t{load<int16_t>(at)} : int64_t{load<uint16_t>(at)};
    case 4:
      return signed_ ? int64_t{load<int32_t>(at)} : int64_t{load<uint32_t>(at)};
    default:
      return load<int64_t>(at);  // a uint64 over 2^63 reads as negative, which read() refuses
  }
}

void TokenSource::read(int64_t offset, std::span<int64_t> out) const {
  if (offset < 0 || offset > size() || int64_t(out.size()) > size() - offset)
    throw Error(
        fmt::format("{} has {} tokens; {} from token {} on are not there", name_, size(), out.size(), offset),
        kFailed);
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t id = id_at(offset + int64_t(i));
    if (id < 0 || id >= vocabulary_)
      throw Error(fmt::format("{}: token {} has id {}, outside its vocabulary of {}", name_,
                              offset + int64_t(i), id, vocabulary_));
    out[i] = id;
  }
}

int64_t TokenSource::largest_id() const {
  int64_t largest = 0;
  for (int64_t i = 0; i < size(); ++i) {
    const int64_t id = id_at(i);
    if (id < 0 || id >= kMostIds)
      throw Error(fmt::format("{}: token {} has id {}; ids go from 0 to {}", name_, i, id, kMostIds - 1));
    largest = std::max(largest, id);
  }
  return largest;
}

TokenSource parse_bin(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                      const std::string& name) {
  refuse_empty(bytes, name);
  if (text_of(bytes).starts_with("\x93NUMPY")) throw Error(name + " is a NumPy file: name it .npy");
  if (bytes.size() >= sizeof(int32_t)) {
    const int32_t magic = load<int32_t>(bytes.data());
    if (magic == kLlmcEval)
      throw Error(
          name +
          " is an llm.c evaluation file (magic 20240522), which holds examples, not a stream of tokens");
    for (const LlmcKind& kind : kLlmc)
      if (magic == kind.magic) return parse_llmc(std::move(owner), bytes, name, kind);
  }
  if (bytes.size() % 2)
    throw Error(
        fmt::format("{} has {} bytes, an odd number: it should hold raw uint16 tokens (nanoGPT) or begin "
                    "with an llm.c header",
                    name, bytes.size()));
  return {name, std::move(owner), bytes, 2, false};
}

bool holds_ids(const std::filesystem::path& path) {
  return path.extension() == ".bin" || path.extension() == ".npy";
}

TokenSource open_tokens(const std::filesystem::path& path, std::optional<int64_t> vocabulary) {
  const std::string name = path.string();
  if (vocabulary && *vocabulary < 1)
    throw Error(fmt::format("{}: a vocabulary has at least 1 id, not {}", name, *vocabulary));
  const bool ids = holds_ids(path);
  TokenSource source = std::filesystem::is_directory(path) ? folder_as_tokens(path) : file_as_tokens(path);
  if (!vocabulary) vocabulary = ids ? vocabulary_beside(path) : kByteVocabulary;
  source.set_vocabulary(vocabulary ? *vocabulary : source.largest_id() + 1);
  return source;
}

}  // namespace darope
