#include "data/prepared/preparation.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <numeric>

#include "base/signals.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".darope-preparing";  // the folder is ours to remove
constexpr size_t kShown = 40;  // characters of a name; a line that breaks cannot be drawn over

fs::path without_slash(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

void check_free(const fs::path& out) {
  if (out.empty()) throw Error("--out is empty: give the folder of the new dataset");
  if (fs::is_symlink(out))
    throw Error(fmt::format("{} is a link: give the folder it leads to as --out, or another", out.string()));
  if (fs::exists(out) && !(fs::is_directory(out) && fs::is_empty(out)))
    throw Error(fmt::format("{} is there already: choose another --out, or remove it", out.string()));
}

// The folder is there with its mark or not at all, so that no killed preparation is in the way of the next.
void make_marked(const fs::path& folder) {
  make_directories(folder.parent_path());
  const fs::path temporary = make_temporary_folder(folder);
  try {
    write_file(temporary / kMark, "");
    rename_path(temporary, folder);
  } catch (...) {
    remove_tree(temporary);
    throw;
  }
}

template <class T>
void write_as(NpyWriter& out, const std::vector<uint32_t>& ids) {
  const std::vector<T> narrow(ids.begin(), ids.end());
  out.write(std::as_bytes(std::span(narrow)));
}

}  // namespace

Preparation::Preparation(const Kind& kind, const PrepareRequest& request)
    : kind_(kind), out_(without_slash(request.out)), folder_(out_.string() + ".preparing") {
  check_free(out_);
  if (fs::exists(fs::symlink_status(folder_)) && (fs::is_symlink(folder_) || !fs::exists(folder_ / kMark)))
    throw Error(fmt::format(
        "{} is in the way, and no preparation of this program: remove it, or choose another --out",
        folder_.string()));
  if (!fs::exists(folder_)) make_marked(folder_);
  lock_.emplace(folder_ / kMark, O_RDWR | O_NOFOLLOW);
  if (::flock(lock_->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) fail_on("lock", folder_ / kMark);
    throw Error(
        fmt::format("another process is preparing {}: wait for it, or choose another --out", out_.string()));
  }
  manifest_.kind = kind.name;
  try {
    remove_leftovers_of(folder_);
    remove_leftovers(folder_);
    remove_file(folder_ / kManifestFile);  // of one that was killed just before its end
  } catch (...) {
    discard();
    throw;
  }
}

void Preparation::set_vocabulary(int64_t tokens, int64_t stored_values) {
  manifest_.vocabulary = tokens;
  manifest_.stored_values = stored_values > 0 ? stored_values : tokens;
  const std::string descr = manifest_.stored_values <= 1 << 8    ? "|u1"
                            : manifest_.stored_values <= 1 << 16 ? "<u2"
                                                                 : "<u4";
  for (size_t i = 0; i < streams_.size(); ++i) {
    const fs::path file = folder_ / kSplitNames[i];
    streams_[i].reset(new Streams{NpyWriter(file.string() + ".npy", descr),
                                  NpyWriter(file.string() + ".starts.npy", "<i8")});
    const int64_t first = 0;
    streams_[i]->starts.write(std::as_bytes(std::span(&first, 1)));
  }
}

void Preparation::set_tokenizer(const std::string& name, const fs::path& ranks) {
  manifest_.tokenizer = name;
  set_vocabulary(find_tokenizer(name, ranks)->vocabulary());
  if (ranks.empty()) return;
  const std::string text = read_file(ranks);
  write_file(folder_ / kRanksFile, text);
  manifest_.ranks = {kRanksFile, int64_t(text.size()), sha256(text)};
}

void Preparation::discard() {
  try {
    remove_tree(folder_);
  } catch (const std::exception&) {  // what could not be removed bears the mark, and the next one will
  }
}

Preparation::~Preparation() {
  if (!finished_) discard();
}

void Preparation::expect(int64_t files) {
  progress_.emplace("preparing", files, 0);
  expected_ = files;
  reached_ = 0;
}

void Preparation::advance(const std::string& name) {
  throw_if_stopped();
  const std::string shown = name.size() > kShown ? "..." + name.substr(name.size() - kShown) : name;
  if (progress_ && progress_->terminal()) progress_->show(reached_, shown);
  ++reached_;
}

void Preparation::write_ids(Split split, const std::string& item) {
  NpyWriter& values = streams_[size_t(split)]->values;
  const auto most = std::max_element(ids_.begin(), ids_.end());
  if (most != ids_.end() && *most >= manifest_.stored_values)
    throw Error(
        fmt::format("{} has a value outside the {} of {}", item, manifest_.stored_values, manifest_.kind),
        kFailed);
  if (manifest_.stored_values <= 1 << 8)
    write_as<uint8_t>(values, ids_);
  else if (manifest_.stored_values <= 1 << 16)
    write_as<uint16_t>(values, ids_);
  else
    write_as<uint32_t>(values, ids_);
  manifest_[split].values += int64_t(ids_.size());
  if (kind_.text) return;  // whose items are many documents
  if (!at_ || at_->item != item) end_item();
  at_ = {split, item};
  held_.add(std::as_bytes(std::span(ids_)));
}

void Preparation::end_item() {
  if (!at_) return;
  const auto [found, is_new] = first_.try_emplace(held_.hex(), *at_);
  if (!is_new && found->second.split != at_->split) equal_.emplace_back(found->second, *at_);
  at_.reset();
  held_ = {};
}

void Preparation::warn_of_equal_items() {
  end_item();
  if (equal_.empty()) return;
  const auto& [one, other] = equal_.front();
  caution(fmt::format(
      "{} of the {} hold the same as one in another split, such as {} ({}) and {} ({}): what "
      "was learned by heart scores too well; keep one of each and prepare again",
      equal_.size(), kind_.items, one.item, name_of(one.split), other.item, name_of(other.split)));
}

void Preparation::end_sequence(Split split, const std::string& item) {
  SplitFacts& facts = manifest_[split];
  Streams& streams = *streams_[size_t(split)];
  const int64_t length = facts.values - streams.begin;
  if (length < 2)
    throw Error(fmt::format("{} has a sequence of {}: without a second value there is nothing to predict",
                            item, length),
                kFailed);
  streams.begin = facts.values;
  streams.starts.write(std::as_bytes(std::span(&facts.values, 1)));
  facts.shortest = facts.sequences == 0 ? length : std::min(facts.shortest, length);
  facts.longest = std::max(facts.longest, length);
  ++facts.sequences;
  if (facts.items.empty() || facts.items.back().id != item) facts.items.push_back({item, 0});
  ++facts.items.back().sequences;
}

void Preparation::source(const std::string& name, std::string_view bytes) {
  manifest_.sources.push_back({name, int64_t(bytes.size()), sha256(bytes)});
}

std::string Preparation::source_file(const std::string& name, const fs::path& file) {
  manifest_.sources.push_back({name, size_of_file(file), sha256_of_file(file)});
  return manifest_.sources.back().sha256;
}

void Preparation::skip(const std::string& name, const Error& reason) {
  const auto* bad = dynamic_cast<const BadInput*>(&reason);
  manifest_.skipped.push_back({name, reason.what(), bad ? std::optional(bad->offset()) : std::nullopt});
}

void Preparation::caution(const std::string& sentence) { manifest_.facts["cautions"].push_back(sentence); }

std::string Preparation::skipped() const {
  const std::vector<Skipped>& all = manifest_.skipped;
  return fmt::format("{} skipped{}", all.size(),
                     all.empty() ? "" : fmt::format("; {}: {}", all[0].name, all[0].reason));
}

void Preparation::close(Split split) {
  SplitFacts& facts = manifest_[split];
  if (facts.sequences == 0) {
    throw Error(
        fmt::format("nothing is left for {} ({}): give more, or sound, input", name_of(split), skipped()));
  }
  Streams& streams = *streams_[size_t(split)];
  for (size_t i = 0; i < 2; ++i) {
    NpyWriter& stream = i == 0 ? streams.values : streams.starts;
    stream.close();
    facts.files[i] = {stream.path().filename().string(), size_of_file(stream.path()),
                      sha256_of_file(stream.path())};
  }
}

Manifest Preparation::finish() {
  throw_if_stopped();
  if (progress_ && progress_->terminal()) progress_->show(expected_, "");
  for (const Split split : {Split::train, Split::validation, Split::test}) close(split);
  warn_of_equal_items();
  write_file(folder_ / kManifestFile, to_json(manifest_));
  rename_path(folder_, out_);
  finished_ = true;
  remove_file(out_ / kMark);  // last: until then the folder could be told from somebody else's
  return manifest_;
}

int64_t fewest_to_split(bool several) { return several ? 3 : 8; }

std::vector<Split> draw_splits(int64_t count, uint64_t seed, bool several, std::string_view items,
                               const std::string& skipped) {
  constexpr int64_t kFew = 40;  // from here on a twentieth is at least two
  const int64_t fewest = fewest_to_split(several);
  if (count < fewest)
    throw Error(fmt::format("{} usable {} are too few for three splits ({}): give at least {}", count, items,
                            skipped, fewest));
  std::vector<size_t> order(size_t(count), 0);
  std::iota(order.begin(), order.end(), size_t{0});
  Random random(seed, "prepare/split");
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const int64_t share =
      several || count >= kFew ? std::max<int64_t>(1, (count + 10) / 20) : std::min<int64_t>(3, count / 4);
  std::vector<Split> out(size_t(count), Split::train);
  for (size_t i = 0; i < size_t(2 * share); ++i)
    out[order[i]] = i < size_t(share) ? Split::validation : Split::test;
  return out;
}

}  // namespace darope
