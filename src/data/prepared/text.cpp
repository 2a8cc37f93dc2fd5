#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/python.h"
#include "base/signals.h"
#include "data/prepared/define.h"
#include "data/prepared/preparation.h"
#include "data/prepared/source_files.h"
#include "data/text/jsonl.h"
#include "data/text/plain_text.h"
#include "data/text/unicode.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHashed = 1 << 16;         // bytes at a document's front that choose its split
constexpr size_t kLongestUncut = 64 << 20;  // bytes of text without a space
constexpr int64_t kMostListed = 100;        // documents that are skipped; the others are counted
const std::vector<std::string_view> kEndings = {".txt",      ".txt.gz",    ".txt.zst",  ".txt.xz", ".jsonl",
                                                ".jsonl.gz", ".jsonl.zst", ".jsonl.xz", ".parquet"};

// A whole word of a file's name, as in wikipedia-valid.jsonl.xz, says where its documents go.
std::optional<Split> marked_split(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, Split>, 6> kMarks = {
      {{"train", Split::train},
       {"valid", Split::validation},
       {"validation", Split::validation},
       {"val", Split::validation},
       {"dev", Split::validation},
       {"test", Split::test}}};
  const std::string file = fs::path(name).filename().string();
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  for (auto begin = std::find_if(file.begin(), file.end(), is_letter); begin != file.end();) {
    const auto end = std::find_if_not(begin, file.end(), is_letter);
    for (const auto& [mark, split] : kMarks)
      if (std::string_view(begin, end) == mark) return split;
    begin = std::find_if(end, file.end(), is_letter);
  }
  return std::nullopt;
}

struct TextFile {
  SourceFile file;
  size_t source;  // which of those given
  std::optional<Split> marked;
};

std::vector<TextFile> list_files(const PrepareRequest& request) {
  std::vector<fs::path> sources = {request.source};
  sources.insert(sources.end(), request.more_sources.begin(), request.more_sources.end());
  std::vector<TextFile> out;
  for (size_t i = 0; i < sources.size(); ++i)
    for (SourceFile& file : source_files(sources[i], kEndings)) {
      const std::optional<Split> marked = marked_split(file.name);
      out.push_back({std::move(file), i, marked});
    }
  return out;
}

// Documents in, sequences out: begin, tokens and end of each, as Lingua packs them.
class DocumentWriter {
 public:
  DocumentWriter(const PrepareRequest& request, const std::vector<TextFile>& files, Preparation& out)
      : out_(out), seed_(request.seed) {
    const std::string name = request.ranks.empty() ? "bytes" : tokenizer_of_ranks(request.ranks);
    out.set_tokenizer(name, request.ranks);
    tokenizer_ = find_tokenizer(name, request.ranks);
    for (const Split split : {Split::validation, Split::test})
      if (std::none_of(files.begin(), files.end(),
                       [&](const TextFile& file) { return file.marked == split; }))
        held_out_[size_t(split)] = request.held_out;
    out.option("tokenizer", name);
    out.option("seed", request.seed);
    out.option("held_out", request.held_out);
  }

  void begin_file(const TextFile& file) {
    file_ = &file;
    if (train_documents_.size() <= file.source) train_documents_.resize(file.source + 1);
  }
  // A document, in one or more parts.
  void add(std::string_view part) {
    throw_if_stopped();
    outside_utf8_ += bytes_outside_utf8(part);
    if (!split_) {
      split_ = split_of(part);
      if (const std::optional<int64_t> begin = tokenizer_->begin_of_document()) write({*begin});
    }
    write(tokenizer_->encode(part));
  }
  void pass_empty() { ++empty_; }
  void end_document() {  // if one has begun
    if (!split_) return;
    write({tokenizer_->end_of_document()});
    out_.end_sequence(*split_, file_->file.name);
    train_documents_[file_->source] += *split_ == Split::train;
    split_.reset();
  }
  void skip(int64_t line, const Error& reason) {
    if (++skipped_ <= kMostListed) out_.skip(fmt::format("{}:{}", file_->file.name, line), reason);
  }
  void finish() {
    out_.fact("train_documents_of_sources", train_documents_);
    out_.fact("empty_documents", empty_);
    out_.fact("bytes_outside_utf8", outside_utf8_);
    out_.fact("skipped_lines", skipped_);
  }

 private:
  void write(const Tokens& ids) { out_.add_part(*split_, file_->file.name, ids); }
  // The same beginning goes to the same split, wherever it comes from.
  Split split_of(std::string_view front) const {
    if (file_->marked && *file_->marked != Split::train) return *file_->marked;
    const uint64_t hash = std::stoull(sha256(front.substr(0, kHashed)).substr(0, 16), nullptr, 16);
    const double drawn = Random(seed_, "prepare/document", hash).uniform();
    const double validation = held_out_[size_t(Split::validation)], test = held_out_[size_t(Split::test)];
    return drawn < validation ? Split::validation : drawn < validation + test ? Split::test : Split::train;
  }

  Preparation& out_;
  uint64_t seed_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::array<double, 3> held_out_{};
  const TextFile* file_ = nullptr;
  std::optional<Split> split_;  // of the document that has begun
  std::vector<int64_t> train_documents_;
  int64_t empty_ = 0, outside_utf8_ = 0, skipped_ = 0;
};

void read_documents(const TextFile& file, DocumentWriter& writer) {
  const UnpackLimits any_size{.total_bytes = INT64_MAX};
  const bool rows = file.file.name.ends_with(".parquet");
  if (!rows && file.file.name.find(".jsonl") == std::string::npos) {
    read_plain_text(file.file.path, any_size, kLongestUncut,
                    [&](std::string_view part) { writer.add(part); });
    return writer.end_document();
  }
  const auto document = [&](std::string_view text) {
    if (text.empty()) return writer.pass_empty();
    if (text.find('\0') != text.npos) throw Error("a zero byte in its text");
    writer.add(text);
    writer.end_document();
  };
  const JsonlReader reader{.document = document,
                           .refuse = [&](int64_t line, const Error& reason) { writer.skip(line, reason); }};
  if (!rows) return read_jsonl(file.file.path, {.unpack = any_size}, reader);
  read_json_lines(file.file.path.string(), JsonlLimits{}.line_bytes, reader,
                  [&](const auto& add) { read_from_python("parquet.py", {file.file.path.string()}, add); });
}

void prepare_text(const PrepareRequest& request, Preparation& out) {
  if (!(request.held_out > 0 && request.held_out < 0.5))
    throw Error(fmt::format("--held-out {}: a share above 0 and below 0.5", request.held_out));
  const std::vector<TextFile> files = list_files(request);
  DocumentWriter writer(request, files, out);
  out.expect(int64_t(files.size()));
  for (const TextFile& file : files) {
    out.advance(file.file.name);
    writer.begin_file(file);
    try {
      read_documents(file, writer);
    } catch (const Error& reason) {
      if (reason.code() != kUsage) throw;  // a full disk is not the file's fault
      out.skip(file.file.name, reason);
      writer.end_document();  // what came before the damage is whole, or ends there
      continue;
    }
    out.source_file(file.file.name, file.file.path);
  }
  writer.finish();
}

}  // namespace

struct Text {
  static constexpr Kind kind{
      .name = "text",
      .source = "text: .txt and .jsonl, plain, .gz, .zst or .xz, and .parquet; files, or folders of them",
      .prepare = prepare_text,
      .text = true};
};
template Kind kind_of<Text>();

}  // namespace darope
