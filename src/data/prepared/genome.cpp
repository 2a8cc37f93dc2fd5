#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/signals.h"
#include "data/genome/fasta.h"
#include "data/genome/sixmers.h"
#include "data/prepared/define.h"
#include "data/prepared/preparation.h"
#include "data/prepared/source_files.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// Windows overlap by 50 bases and are long enough for 1000 tokens when up to 99 bases are dropped at the
// front in training.
constexpr int64_t kWindow = 6100, kStride = 6050, kTokens = 1000, kLargestShift = 99;
constexpr int64_t kLetters = 'T' + 1;  // a window is stored as letters
constexpr size_t kLine = 80;
constexpr std::array<std::string_view, 7> kFastaEndings = {".fa",       ".fasta",  ".fna", ".fa.gz",
                                                           ".fasta.gz", ".fna.gz", ".bgz"};

int64_t windows_in(int64_t bases) { return bases < kWindow ? 0 : (bases - kWindow) / kStride + 1; }
int64_t megabase_of(int64_t window) { return window * kStride / 1'000'000; }

// The published dataset cuts a chromosome into chunks of 6000 with margins of 100 that neighbours share, and
// drops a last one that is not whole. What remains is this much of the chromosome's front; we take each of
// its bases once.
int64_t published_bases(int64_t chromosome) {
  constexpr int64_t kChunk = 6000, kMargins = 200;
  return chromosome < kChunk + kMargins ? 0 : (chromosome - kMargins) / kChunk * kChunk + kMargins;
}

struct Record {
  std::string description;
  int64_t place = 0, bases = 0;
  std::optional<Split> split = {};  // none: left out
  std::string id() const { return description.substr(0, description.find(' ')); }
};

// What a file holds, before anything of it is written: a file that turns out damaged at its end has then left
// no trace.
std::vector<Record> scan(const fs::path& file) {
  std::vector<Record> out;
  read_fasta(file, {},
             {.record =
                  [&](std::string_view description, int64_t place) {
                    throw_if_stopped();
                    out.push_back({std::string(description), place});
                  },
              .bases = [&](std::string_view bases) { out.back().bases += int64_t(bases.size()); }});
  return out;
}

Tokens present_bases(Tokens stored, Random* random) {
  const std::string bases(stored.begin(), stored.end());
  const size_t shift = random ? size_t(random->between(0, kLargestShift)) : 0;
  stored.resize(size_t(kTokens));
  stored.resize(tokenize_bases(std::string_view(bases).substr(std::min(shift, bases.size())), stored));
  return stored;
}

// Cuts the bases of one record after another into windows and adds them to the dataset; it holds one window
// at a time.
class WindowWriter {
 public:
  explicit WindowWriter(Preparation& out) : out_(out) {}

  void begin(const std::string& item, const Record& record) {
    item_ = item;
    split_ = record.split;
    left_ = record.split ? windows_in(record.bases) : 0;
    window_.clear();
  }
  void add(std::string_view bases) {
    while (left_ > 0 && !bases.empty()) {
      const size_t taken = std::min(bases.size(), size_t(kWindow) - window_.size());
      window_.insert(window_.end(), bases.begin(), bases.begin() + ptrdiff_t(taken));
      bases.remove_prefix(taken);
      if (window_.size() == size_t(kWindow)) finish_window();
    }
  }
  nlohmann::ordered_json n_free() const {
    nlohmann::ordered_json out;
    for (size_t i = 0; i < kSplitNames.size(); ++i) out[std::string(kSplitNames[i])] = n_free_[i];
    return out;
  }

 private:
  void finish_window() {
    throw_if_stopped();
    out_.add(*split_, item_, window_);
    const Tokens tokens = present_bases({window_.begin(), window_.end()}, nullptr);
    if (std::find(tokens.begin(), tokens.end(), kUnknownBase) == tokens.end()) mark_n_free();
    window_.erase(window_.begin(), window_.begin() + kStride);
    ++written_[size_t(*split_)];
    --left_;
  }
  void mark_n_free() {  // as ranges, both ends included
    auto& ranges = n_free_[size_t(*split_)];
    const int64_t index = written_[size_t(*split_)];
    if (!ranges.empty() && ranges.back()[1] == index - 1)
      ranges.back()[1] = index;
    else
      ranges.push_back({index, index});
  }

  Preparation& out_;
  std::string item_;
  std::optional<Split> split_;
  int64_t left_ = 0;
  std::vector<uint16_t> window_;
  std::array<int64_t, 3> written_{};
  std::array<std::vector<std::array<int64_t, 2>>, 3> n_free_;
};

struct File {
  SourceFile source;
  std::vector<Record> records;
};

std::vector<File> scan_all(const PrepareRequest& request, Preparation& out) {
  out.set_vocabulary(kGenomeVocabulary, kLetters);
  std::vector<File> files;
  const std::vector<SourceFile> sources =
      source_files(request.source, {kFastaEndings.begin(), kFastaEndings.end()});
  out.expect(2 * int64_t(sources.size()));
  for (const SourceFile& source : sources) {
    out.advance(source.name);
    File file{source, {}};
    if (!read_or_skip(out, source.name, [&] { file.records = scan(source.path); })) continue;
    out.source_file(source.name, source.path);
    files.push_back(std::move(file));
  }
  return files;
}

std::string item_of(const File& file, const Record& record) { return file.source.name + ":" + record.id(); }

// Whether a window fits; a record too short for one is listed as skipped.
bool is_usable(const File& file, const Record& record, Preparation& out) {
  if (windows_in(record.bases) > 0) return true;
  const std::string some = fmt::format("{} bases; a window has {}", record.bases, kWindow);
  out.skip(item_of(file, record),
           BadInput(record.bases == 0 ? "a header without sequence" : some, record.place));
  return false;
}

void write_all(const std::vector<File>& files, Preparation& out) {
  WindowWriter writer(out);
  for (const File& file : files) {
    out.advance(file.source.name);
    size_t next = 0;
    read_fasta(file.source.path, {},
               {.record =
                    [&](std::string_view description, int64_t) {
                      if (next == file.records.size() || file.records[next].description != description)
                        throw Error(file.source.path.string() + " changed while it was read", kFailed);
                      writer.begin(item_of(file, file.records[next]), file.records[next]);
                      ++next;
                    },
                .bases = [&](std::string_view bases) { writer.add(bases); }});
  }
  out.fact("window_bases", kWindow);
  out.fact("stride_bases", kStride);
  out.fact("tokens", kTokens);
  out.fact("n_free", writer.n_free());
}

// "NC_000022.11 Homo sapiens chromosome 22, GRCh38.p14 Primary Assembly": 21 is for validation, 22 for test.
std::optional<Split> split_of_chromosome(std::string_view description) {
  constexpr std::string_view kSpecies = " Homo sapiens chromosome ",
                             kAssembly = ", GRCh38.p14 Primary Assembly";
  const size_t species = description.find(kSpecies);
  if (!description.starts_with("NC_") || species == std::string_view::npos ||
      !description.ends_with(kAssembly))
    return std::nullopt;
  const size_t begin = species + kSpecies.size();
  const std::string_view name = description.substr(begin, description.size() - kAssembly.size() - begin);
  return name == "21" ? Split::validation : name == "22" ? Split::test : Split::train;
}

constexpr std::array<std::string_view, 3> kPrefixes = {"train", "valid", "test"};  // by split

std::optional<Split> split_of_name(const std::string& name) {
  const std::string stem = fs::path(name).filename().string();
  for (size_t i = 0; i < kPrefixes.size(); ++i)
    if (stem.starts_with(kPrefixes[i])) return Split(i);
  return std::nullopt;
}

// Whether files are named after splits. One such name alone says nothing; two want the third.
bool are_named(const std::vector<File>& files) {
  std::vector<std::string_view> there, missing;
  for (size_t i = 0; i < kPrefixes.size(); ++i) {
    const auto is_of = [&](const File& file) { return split_of_name(file.source.name) == Split(i); };
    (std::ranges::any_of(files, is_of) ? there : missing).push_back(kPrefixes[i]);
  }
  if (there.size() == 2)
    throw Error(
        fmt::format("there are files whose names begin with {} and {}, and none with {}: name files "
                    "after all three splits, or after none, to split by record",
                    there[0], there[1], missing[0]));
  return there.size() == 3;
}

// Of which one alone is several witnesses to a verdict.
bool has_several_parts(const Record* record) { return megabase_of(windows_in(record->bases) - 1) > 0; }

void prepare_genome(const PrepareRequest& request, Preparation& out) {
  std::vector<File> files = scan_all(request, out);
  int64_t others = 0, bases = 0;
  for (File& file : files)
    for (Record& record : file.records) {
      const std::optional<Split> split = split_of_chromosome(record.description);
      if (!split)
        ++others, bases += record.bases;
      else if (is_usable(file, record, out))
        record.split = split, record.bases = published_bases(record.bases);
    }
  out.fact(
      "left_out",
      {{"records", others}, {"bases", bases}, {"why", "not a chromosome of GRCh38.p14's primary assembly"}});
  write_all(files, out);
}

void prepare_fasta(const PrepareRequest& request, Preparation& out) {
  std::vector<File> files = scan_all(request, out);
  const bool named = are_named(files);
  std::vector<Record*> all;
  for (File& file : files)
    for (Record& record : file.records) {
      if (!is_usable(file, record, out)) continue;
      if (named) record.split = split_of_name(file.source.name);
      all.push_back(&record);
    }
  out.option("split", named ? "by the names of files" : "by record");
  if (!named) {
    const bool several = !all.empty() && std::ranges::all_of(all, has_several_parts);
    const std::vector<Split> splits = out.draw_splits(int64_t(all.size()), request.seed, several);
    for (size_t i = 0; i < all.size(); ++i) all[i]->split = splits[i];
    out.option("seed", request.seed);
  }
  write_all(files, out);
}

std::string word_of_bases(int64_t token) { return text_of_sixmers({&token, 1}); }

std::string show_bases(std::span<const int64_t> stored) {
  const std::string bases(stored.begin(), stored.end());
  std::string out;
  for (size_t i = 0; i < bases.size(); i += kLine)
    out += fmt::format("{:>6}  {}\n", i, bases.substr(i, kLine));
  return out;
}

}  // namespace

struct Genome {
  static constexpr Kind kind{
      .name = "genome",
      .source =
          "human reference genome: GCF_000001405.40_GRCh38.p14_genomic.fna(.gz), or the folder it lies in",
      .prepare = prepare_genome,
      .show = show_bases,
      .word = word_of_bases,
      .present = present_bases,
      .presented = kTokens,
      .part = megabase_of};
};
template Kind kind_of<Genome>();

struct Fasta {
  static constexpr Kind kind{
      .name = "fasta",
      .source = "own FASTA files: a folder; files called train*, valid* and test*, else split by record",
      .endings = kFastaEndings,
      .items = "records",
      .prepare = prepare_fasta,
      .show = show_bases,
      .word = word_of_bases,
      .present = present_bases,
      .presented = kTokens,
      .part = megabase_of};
};
template Kind kind_of<Fasta>();

}  // namespace darope
