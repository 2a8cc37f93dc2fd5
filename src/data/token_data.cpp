#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "data/open.h"
#include "data/prepared/kind.h"
#include "data/text/held_out.h"
#include "data/text/unicode.h"
#include "data/token_windows.h"
#include "data/told.h"

namespace darope {
namespace {

constexpr int64_t kBlocks = 32;  // neighbours that are one witness, where there is but one document

// Windows of length + 1 tokens from the given places.
Batch windows_at(const TokenSource& source, const std::vector<int64_t>& places, int64_t length,
                 const std::vector<std::vector<int64_t>>& documents = {}) {
  std::vector<std::vector<int64_t>> windows;
  for (const int64_t place : places) source.read(place, windows.emplace_back(size_t(length) + 1));
  return pack_windows(windows, documents);
}

// Windows from random places of the file's front, drawn by (seed, batch, row).
class TokenStream final : public TrainStream {
 public:
  TokenStream(std::shared_ptr<const TokenSource> source, int64_t end, int64_t rows, int64_t length,
              uint64_t seed)
      : source_(std::move(source)), end_(end), rows_(rows), length_(length), seed_(seed) {}

  Batch at(int64_t index) const override {
    std::vector<int64_t> places;
    for (int64_t row = 0; row < rows_; ++row)
      places.push_back(Random(seed_, "tokens/train", uint64_t(index) << 32 | uint64_t(row))
                           .between(0, end_ - length_ - 1));
    return windows_at(*source_, places, length_);
  }
  int64_t tokens(int64_t) const override { return rows_ * length_; }

 private:
  std::shared_ptr<const TokenSource> source_;
  int64_t end_, rows_, length_;
  uint64_t seed_;
};

// Stretches of `length` tokens, each scored behind `lead` tokens that are read and not scored: with another
// lead, the same tokens are scored with another context.
class TokenTest final : public TestSet {
 public:
  TokenTest(std::shared_ptr<const TokenSource> source, std::vector<int64_t> places, int64_t length,
            int64_t lead, bool documents_apart = false)
      : source_(std::move(source)),
        places_(std::move(places)),
        length_(length),
        lead_(lead),
        documents_apart_(documents_apart) {}
  int64_t size() const override { return int64_t(places_.size()); }

  int64_t cluster(int64_t example) const override {
    const int64_t first = document_of(places_.front());
    if (document_of(places_.back()) != first) return document_of(places_[size_t(example)]) - first;
    return example * std::min(kBlocks, size()) / size();
  }

  Batch read(int64_t first, int64_t count) const override {
    std::vector<int64_t> begins;
    for (int64_t i = first; i < first + count; ++i) begins.push_back(places_[size_t(i)] - lead_);
    std::vector<std::vector<int64_t>> documents;
    for (size_t i = 0; documents_apart_ && i < begins.size(); ++i) {
      std::vector<int64_t>& of_window = documents.emplace_back();
      for (int64_t at = begins[i]; at <= begins[i] + lead_ + length_; ++at)
        of_window.push_back(document_of(at));
    }
    Batch batch = windows_at(*source_, begins, lead_ + length_, documents);
    batch.weight.view({count, lead_ + length_}).narrow(1, 0, lead_).zero_();
    return batch;
  }

 private:
  int64_t document_of(int64_t token) const {
    const std::vector<int64_t>& starts = source_->document_starts();
    return std::upper_bound(starts.begin(), starts.end(), token) - starts.begin() - 1;
  }

  std::shared_ptr<const TokenSource> source_;
  std::vector<int64_t> places_;  // of the first token of each stretch
  int64_t length_, lead_;
  bool documents_apart_;
};

// At most `most` of the stretches that lie side by side from `begin` on, spread evenly over all `room` of
// them.
std::vector<int64_t> spread(int64_t begin, int64_t room, int64_t most, int64_t length) {
  const int64_t count = std::min(most, room);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(begin + i * room / count * length);
  return places;
}

// Every length that the tokens from `begin` to the end allow, the same tokens scored at each.
std::vector<TestLength> tests_of(const std::shared_ptr<const TokenSource>& source, int64_t begin,
                                 const DataConfig& config) {
  const int64_t length = config.seq_len;
  const auto room = [&](int64_t multiple) { return (source->size() - begin - 1) / length - (multiple - 1); };
  std::vector<int64_t> multiples{1, 2, 8};
  std::erase_if(multiples, [&](int64_t multiple) { return room(multiple) < kFewestWindows; });
  if (multiples.empty()) return {};
  const int64_t longest = multiples.back();
  const std::vector<int64_t> places =
      spread(begin + (longest - 1) * length, room(longest), config.test_examples, length);
  std::vector<TestLength> tests;
  for (const int64_t multiple : multiples)
    tests.push_back({multiple, std::make_shared<TokenTest>(source, places, length, (multiple - 1) * length)});
  return tests;
}

std::shared_ptr<const TestSet> validation_of(const std::shared_ptr<const TokenSource>& source,
                                             const DataConfig& config) {
  const int64_t room = (source->size() - 1) / config.seq_len;
  if (room < kFewestWindows)
    throw Error(
        fmt::format("{} has {} tokens: too few for a validation of {} windows of {}; give a longer file or a "
                    "smaller data.seq_len",
                    config.validation_path, source->size(), kFewestWindows, config.seq_len));
  return std::make_shared<TokenTest>(source, spread(0, room, config.test_examples, config.seq_len),
                                     config.seq_len, 0);
}

// What is learned from, validated on and tested on are files of one sort, and none is part of another.
void check_files(const DataConfig& config) {
  const std::pair<const char*, const std::string&> given[] = {
      {"data.path", config.path},
      {"data.validation_path", config.validation_path},
      {"data.test_path", config.test_path}};
  for (const auto& [key, file] : given)
    for (const auto& [other_key, other] : given) {
      if (&file == &other || file.empty() || other.empty()) continue;
      if (holds_ids(file) != holds_ids(other))
        throw Error(fmt::format("{} and {} cannot go together: one holds ids, the other text", file, other));
      if (is_or_lies_in(other, file))
        throw Error(
            fmt::format("{} '{}' is, or lies in, {} '{}': what is learned from, validated on and "
                        "tested on must be apart",
                        other_key, other, key, file));
    }
}

// The source with its test behind what is learned from, all of which is where the test is another file.
HeldOut open_all(const DataConfig& config) {
  const TokenSource source = open_tokens(config.path);
  return config.test_path.empty() ? hold_out(source, config.test_share) : HeldOut{source, source.size()};
}

}  // namespace

Batch pack_windows(const std::vector<std::vector<int64_t>>& windows,
                   const std::vector<std::vector<int64_t>>& documents) {
  const int64_t count = int64_t(windows.size()), length = int64_t(windows.at(0).size()) - 1;
  Batch out{at::empty({count, length}, at::kLong), Tensor(), at::empty({count * length}, at::kLong),
            at::ones({count * length})};
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<int64_t>& window = windows[size_t(i)];
    std::copy(window.begin(), window.end() - 1, out.tokens.mutable_data_ptr<int64_t>() + i * length);
    std::copy(window.begin() + 1, window.end(), out.targets.mutable_data_ptr<int64_t>() + i * length);
  }
  if (documents.empty()) return out;
  const Batch ids = pack_windows(documents);
  out.documents = ids.tokens;
  out.weight = ids.targets.eq(ids.tokens.flatten()).to(at::kFloat);
  return out;
}

std::shared_ptr<const TestSet> test_of_stream(std::shared_ptr<const TokenSource> source, int64_t begin,
                                              int64_t count, int64_t length, bool documents_apart) {
  return std::make_shared<TokenTest>(std::move(source), spread(begin, count, count, length), length, 0,
                                     documents_apart);
}

// That a file needs for its test, and for training beside it.
static int64_t fewest_tokens(const DataConfig& config) {
  const int64_t tested = kFewestWindows * config.seq_len + 1;
  if (!config.test_path.empty()) return tested;
  const auto held_out = [&](int64_t all) { return int64_t(std::ceil(config.test_share * double(all))); };
  int64_t all = int64_t(double(tested - 1) / config.test_share);
  while (held_out(all) < tested || all - held_out(all) < config.seq_len + 2) ++all;
  return all;
}

// Says where a text is none to most programs, as far as its first megabyte tells.
static void note_bytes_outside_utf8(const std::string& path, const TokenSource& source, Dataset& out) {
  if (holds_ids(path)) return;
  constexpr int64_t kLooked = 1 << 20;
  Tokens front(size_t(std::min(kLooked, source.size())));
  source.read(0, front);
  std::erase(front, kEndOfDocument);
  const std::string text(front.begin(), front.end());
  if (const int64_t outside = bytes_outside_utf8(text.substr(0, text.find_last_of(" \n")));  // of whole words
      outside > 0)
    out.notes.push_back(
        fmt::format("{} is not all UTF-8 ({} bytes of its beginning, as in Latin-1): every "
                    "byte is a token as it stands",
                    path, outside));
}

Dataset open_token_file(const DataConfig& config, uint64_t seed) {
  const bool apart = !config.test_path.empty();
  check_files(config);
  for (const std::string& path : {config.path, config.validation_path, config.test_path})
    refuse_files_of_kinds(path);
  const auto open = [](const std::string& path) {
    return std::make_shared<const TokenSource>(open_tokens(path));
  };
  const HeldOut all = open_all(config);
  const auto source = std::make_shared<const TokenSource>(all.source),
             tested = apart ? open(config.test_path) : source,
             validated = config.validation_path.empty() ? nullptr : open(config.validation_path);
  const int64_t train_end = all.begin;
  const std::vector<TestLength> tests = tests_of(tested, apart ? 0 : train_end, config);
  if (apart && train_end < config.seq_len + 2)
    throw Error(
        fmt::format("{} has {} tokens: too few to train on windows of {}; give one of at least {}, or a "
                    "smaller data.seq_len",
                    config.path, source->size(), config.seq_len, config.seq_len + 2));
  if (train_end < config.seq_len + 2 || tests.empty())
    throw Error(fmt::format(
        "{} has {} tokens: too few for a test set of {} windows of {}{}; give one of at least {}, "
        "or a smaller data.seq_len",
        apart ? config.test_path : config.path, tested->size(), kFewestWindows, config.seq_len,
        apart ? "" : fmt::format(" in the {:g} % kept for it", 100 * config.test_share),
        fewest_tokens(config)));
  std::vector<std::shared_ptr<const TokenSource>> sources = {source};
  if (apart) sources.push_back(tested);
  if (validated) sources.push_back(validated);
  int64_t vocabulary = 0;
  for (const auto& each : sources) vocabulary = std::max(vocabulary, each->vocabulary());
  Dataset out{
      .name = dataset_name(config),
      .family = "file",
      .vocabulary = vocabulary,
      .measure = Measure::nll,
      .train = std::make_shared<TokenStream>(source, train_end, config.batch_size, config.seq_len, seed),
      .tests = tests,
      .validation = validated ? validation_of(validated, config) : nullptr,
      .sources = sources,
      .told = told(config, *source, *tested, all.whole_documents, *tests.front().set)};
  note_bytes_outside_utf8(config.path, *source, out);
  return out;
}

}  // namespace darope
