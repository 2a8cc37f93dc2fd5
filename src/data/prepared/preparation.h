#pragma once
#include <map>
#include <memory>
#include <optional>

#include "base/progress.h"
#include "base/sha256.h"
#include "data/bad_input.h"
#include "data/prepared/kind.h"
#include "data/prepared/manifest.h"
#include "data/text/npy.h"
#include "data/text/tokenizer.h"

namespace darope {

// 90/5/5 in an order drawn by the seed: the split of each of `count` items. Of few, more than a twentieth
// tests, since a verdict needs at least two witnesses: items, unless each alone is `several`. What they are
// called and how many were `skipped` goes into the Error of too few.
int64_t fewest_to_split(bool several);
std::vector<Split> draw_splits(int64_t count, uint64_t seed, bool several = false,
                               std::string_view items = "items", const std::string& skipped = "none skipped");

// A dataset in the making. Everything goes to OUT.preparing and is renamed to OUT by finish(); before that
// nothing at OUT looks like a dataset, and without finish() nothing is left. A preparation that was killed is
// begun anew by the next one. Sequences go straight to the disk: memory grows with the number of items, not
// with what they hold.
class Preparation {
 public:
  Preparation(const Kind& kind, const PrepareRequest& request);
  ~Preparation();

  // First of all: how many different tokens a model reads, and how many different values the files hold (0:
  // as many), by which their width is chosen. Or the tokenizer of a text, by its name.
  void set_vocabulary(int64_t tokens, int64_t stored_values = 0);
  void set_tokenizer(const std::string& name, const std::filesystem::path& ranks = {});  // ranks are copied

  void expect(int64_t files);             // for the progress bar
  void advance(const std::string& name);  // one of them is next; stops here on a signal
  // Sequences of one item follow each other.
  void add(Split split, const std::string& item, const auto& sequence) {
    add_part(split, item, sequence);
    end_sequence(split, item);
  }
  // A long sequence in parts; nothing else is added to the split until it ends.
  void add_part(Split split, const std::string& item, const auto& values) {
    ids_.assign(std::begin(values), std::end(values));
    write_ids(split, item);
  }
  void end_sequence(Split split, const std::string& item);
  void source(const std::string& name, std::string_view bytes);
  std::string source_file(const std::string& name, const std::filesystem::path& file);  // returns the sha256
  void skip(const std::string& name, const Error& reason);
  void caution(const std::string& sentence);  // what whoever uses the data should know
  void option(const std::string& key, nlohmann::ordered_json value) {
    manifest_.options[key] = std::move(value);
  }
  void fact(const std::string& key, nlohmann::ordered_json value) { manifest_.facts[key] = std::move(value); }
  std::vector<Split> draw_splits(int64_t items, uint64_t seed, bool several = false) const {
    return darope::draw_splits(items, seed, several, kind_.items, skipped());
  }
  Manifest finish();  // an Error where a split has remained empty

 private:
  struct Streams {
    NpyWriter values, starts;
    int64_t begin = 0;  // of the sequence that is being added
  };
  void discard();
  void write_ids(Split split, const std::string& item);
  void end_item();
  void warn_of_equal_items();
  void close(Split split);
  std::string skipped() const;  // how many, and why the first

  const Kind& kind_;
  std::filesystem::path out_, folder_;
  Manifest manifest_;
  std::optional<Descriptor> lock_;  // held while this process writes there
  std::array<std::unique_ptr<Streams>, 3> streams_;
  std::vector<uint32_t> ids_;  // of the sequence that is being added
  struct Place {
    Split split;
    std::string item;
  };
  std::optional<Place> at_;  // of the item that is being added, and what it held so far
  Sha256 held_;
  std::map<std::string, Place> first_;          // items by what they hold
  std::vector<std::pair<Place, Place>> equal_;  // items that lie in two splits under two names
  std::optional<Progress> progress_;
  int64_t expected_ = 0, reached_ = 0;
  bool finished_ = false;
};

// Runs `read`; a file that it refuses is skipped, listed and answered with false. `read` must not write to
// `out`: a full disk is not the file's fault.
template <class Read>
bool read_or_skip(Preparation& out, const std::string& name, const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& reason) {
    out.skip(name, reason);
    return false;
  }
}

}  // namespace darope
