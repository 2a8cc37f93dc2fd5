#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/permutation.h"
#include "data/open.h"
#include "data/prepared/prepared_data.h"
#include "data/token_windows.h"

namespace darope {
namespace {

constexpr size_t kMostSources = 16;
constexpr int64_t kShuffled = 1024;     // neighbouring windows that change places
constexpr int64_t kBetweenMarks = 256;  // documents

// Documents of the training split that lie together and are drawn together.
struct TextSource {
  int64_t first, documents;
  double share;  // of the draws that fall to it and those before it
};

// How many documents to learn from each source has given, of those that gave any.
std::vector<int64_t> documents_of_sources(const PreparedData& data) {
  std::vector<int64_t> out;
  int64_t sum = 0;
  const int64_t all = data[Split::train].size();
  for (const auto& count :
       data.manifest.facts.value("train_documents_of_sources", nlohmann::ordered_json::array())) {
    const int64_t documents = count.is_number_unsigned() ? count.get<int64_t>() : 0;
    if (documents > 0) out.push_back(documents);
    sum = documents < 0 || documents > all - sum ? -1 : sum + documents;
    if (sum < 0) break;
  }
  if (sum != all)
    throw Error(
        fmt::format("manifest.json: its sources do not have the {} documents to learn from that its "
                    "files have",
                    all));
  return out;
}

// The sources of a mixture by their weights; without weights one source of everything, so that an epoch has
// every document once.
std::vector<TextSource> sources_of(const PreparedData& data, const std::vector<double>& weights) {
  if (weights.empty()) return {{0, data[Split::train].size(), 1}};
  const std::vector<int64_t> documents = documents_of_sources(data);
  if (documents.size() != weights.size() || weights.size() > kMostSources)
    throw Error(fmt::format("data.weights has {} numbers: the text to learn from has {} sources (at most {})",
                            weights.size(), documents.size(), kMostSources));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<TextSource> out;
  TextSource next{0, 0, 0};
  for (size_t i = 0; i < weights.size(); ++i) {
    next = {next.first + next.documents, documents[i], next.share + weights[i] / sum};
    out.push_back(next);
  }
  out.back().share = 1;
  return out;
}

// An endless stream of documents, of which windows are cut side by side, as Lingua packs them. Each document
// is drawn from a source by weight, and within the source in the order of an epoch; all of it follows from
// the seed and the document's number, so that any window is found by passing over lengths from the last mark.
class TextStream final : public TrainStream {
 public:
  TextStream(std::shared_ptr<const PreparedData> data, const std::vector<double>& weights, int64_t rows,
             int64_t length, bool documents_apart, uint64_t seed)
      : data_(std::move(data)),
        sources_(sources_of(*data_, weights)),
        rows_(rows),
        length_(length),
        documents_apart_(documents_apart),
        seed_(seed) {}

  Batch at(int64_t index) const override {
    std::vector<Tokens> windows, documents;
    for (int64_t i = index * rows_; i < (index + 1) * rows_; ++i) {
      const int64_t block = i / kShuffled;
      const Permutation order(kShuffled, Random(seed_, "text/windows", uint64_t(block)));
      const int64_t window = block * kShuffled + int64_t(order(uint64_t(i % kShuffled)));
      windows.push_back(read(window * length_, length_ + 1, documents.emplace_back()));
    }
    return pack_windows(windows, documents_apart_ ? documents : std::vector<Tokens>{});
  }
  int64_t tokens(int64_t) const override { return rows_ * length_; }

 private:
  // A place between two documents of the stream.
  struct Mark {
    int64_t documents = 0, token = 0;           // before it
    std::array<int64_t, kMostSources> drawn{};  // from each source
  };

  // The document that follows a mark, and the mark behind it.
  std::pair<int64_t, Mark> next(Mark mark) const {
    const double drawn = Random(seed_, "text/source", uint64_t(mark.documents)).uniform();
    size_t s = 0;
    while (drawn >= sources_[s].share) ++s;
    const TextSource& source = sources_[s];
    const int64_t epoch = mark.drawn[s] / source.documents, i = mark.drawn[s] % source.documents;
    const Permutation order(uint64_t(source.documents),
                            Random(seed_, "text/order", uint64_t(epoch) * kMostSources + s));
    const int64_t document = source.first + int64_t(order(uint64_t(i)));
    ++mark.drawn[s];
    ++mark.documents;
    mark.token += (*data_)[Split::train].length(document);
    return {document, mark};
  }

  Mark mark_before(int64_t token) const {
    const std::lock_guard lock(mutex_);
    const auto behind = std::upper_bound(marks_.begin(), marks_.end(), token,
                                         [](int64_t t, const Mark& mark) { return t < mark.token; });
    Mark at = *(behind - 1);
    for (Mark after = next(at).second; after.token <= token; after = next(at).second) {
      at = after;
      if (at.documents == int64_t(marks_.size()) * kBetweenMarks) marks_.push_back(at);
    }
    return at;
  }

  // The tokens, and for each how many documents of the stream come before its own.
  Tokens read(int64_t token, int64_t count, Tokens& documents) const {
    Mark at = mark_before(token);
    int64_t skipped = token - at.token;
    Tokens out;
    while (int64_t(out.size()) < count) {
      const auto [document, after] = next(at);
      const int64_t taken = std::min(after.token - at.token - skipped, count - int64_t(out.size()));
      const Tokens part = (*data_)[Split::train].read(document, skipped, taken);
      out.insert(out.end(), part.begin(), part.end());
      documents.resize(out.size(), at.documents);
      skipped = 0;
      at = after;
    }
    return out;
  }

  std::shared_ptr<const PreparedData> data_;
  std::vector<TextSource> sources_;
  int64_t rows_, length_;
  bool documents_apart_;
  uint64_t seed_;
  mutable std::mutex mutex_;  // over the marks, one every so many documents as far as was asked
  mutable std::vector<Mark> marks_ = {{}};
};

bool are_apart(const DataConfig& config) { return config.documents == "apart"; }

std::shared_ptr<const TestSet> windows_of(const PreparedData& data, Split split, const DataConfig& config) {
  const auto stream = std::make_shared<const TokenSource>(data[split].stream());
  const int64_t room = (stream->size() - 1) / config.seq_len;
  if (room < kFewestWindows)
    throw Error(fmt::format(
        "{}: {} has {} tokens, too few for {} windows of {}; hold more out (--held-out) or choose "
        "a smaller data.seq_len",
        config.root_dir, name_of(split), stream->size(), kFewestWindows, config.seq_len));
  return test_of_stream(stream, 0, std::min(config.test_examples, room), config.seq_len, are_apart(config));
}

}  // namespace

Dataset open_text(std::shared_ptr<const PreparedData> data, const DataConfig& config, uint64_t seed) {
  return {.name = dataset_name(config),
          .family = std::string(data->kind.name),
          .vocabulary = data->manifest.vocabulary,
          .measure = Measure::nll,
          .train = std::make_shared<TextStream>(data, config.weights, config.batch_size, config.seq_len,
                                                are_apart(config), seed),
          .tests = {{.multiple = 1, .set = windows_of(*data, Split::test, config)}},
          .validation = windows_of(*data, Split::validation, config),
          .tokenizer = data->tokenizer};
}

}  // namespace darope
