#include "data/prepared/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/signals.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// A polynomial over the values of a run, which moves on by one value in two products.
class RollingHash {
 public:
  RollingHash() {
    for (int64_t i = 1; i < Audit::kRun; ++i) highest_ *= kFactor;
  }
  // Calls `at(place, hash)` for the run that begins at each place of the sequence.
  template <class At>
  void each_run(const Tokens& values, const At& at) const {
    uint64_t hash = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i >= size_t(Audit::kRun)) hash -= term(values[i - size_t(Audit::kRun)]) * highest_;
      hash = hash * kFactor + term(values[i]);
      if (i + 1 >= size_t(Audit::kRun)) at(int64_t(i + 1) - Audit::kRun, hash);
    }
  }

 private:
  static constexpr uint64_t kFactor = 0xD1342543DE82EF95;
  static uint64_t term(int64_t value) { return (uint64_t(value) + 1) * 0x9E3779B97F4A7C15; }
  uint64_t highest_ = 1;
};

std::string bytes_of(const Tokens& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)};
}

class Auditor {
 public:
  explicit Auditor(const fs::path& folder) : data_(folder), folder_(folder) {}

  Audit run() {
    check_files();
    check_items();
    gather_runs();
    for (const Split split : {Split::train, Split::validation, Split::test}) count(split);
    look_up_runs();
    return std::move(out_);
  }

 private:
  void check_files() {
    for (const SplitFacts& split : data_.manifest.splits)
      for (const FileFacts& file : split.files)
        if (sha256_of_file(folder_ / file.name) != file.sha256) out_.damaged.push_back(file.name);
    for (const Split split : {Split::train, Split::validation, Split::test}) check_lengths(split);
  }

  void check_lengths(Split split) {
    int64_t shortest = INT64_MAX, longest = 0;
    for (int64_t i = 0; i < data_[split].size(); ++i) {
      shortest = std::min(shortest, data_[split].length(i));
      longest = std::max(longest, data_[split].length(i));
    }
    const SplitFacts& said = data_.manifest[split];
    if (said.shortest != shortest || said.longest != longest)
      out_.damaged.push_back(fmt::format("manifest.json (lengths of {})", name_of(split)));
  }

  void check_items() {
    if (data_.kind.text) return;  // a file's documents may lie in several splits
    std::set<std::string> seen;
    for (const SplitFacts& split : data_.manifest.splits) {
      std::set<std::string> own;
      for (const Item& item : split.items) own.insert(item.id);
      for (const std::string& id : own)
        if (!seen.insert(id).second) out_.items_twice.push_back(id);
    }
  }

  // The runs of validation and test by their hash, each with how often either has it.
  void gather_runs() {
    for (const Split split : {Split::validation, Split::test})
      for (int64_t i = 0; i < data_[split].size(); ++i)
        hash_.each_run(data_[split].read(i), [&](int64_t place, uint64_t hash) {
          if (place % Audit::kRun != 0) return;
          ++runs_[hash][size_t(split)];
          ++out_.splits[size_t(split)].runs;
        });
  }

  void count(Split split) {
    SplitAudit& facts = out_.splits[size_t(split)];
    facts.items = int64_t(data_.manifest[split].items.size());
    facts.sequences = data_[split].size();
    std::unordered_set<int64_t> used;
    std::unordered_set<std::string> own;
    for (int64_t i = 0; i < facts.sequences; ++i) {
      throw_if_stopped();
      const Tokens values = data_[split].read(i);
      facts.values += int64_t(values.size());
      for (const int64_t token : data_.present(split, i, nullptr)) used.insert(token);
      const std::string hash = sha256(bytes_of(values));
      if (!own.insert(hash).second) ++facts.repeats;
      if (split != Split::train && train_.contains(hash)) ++facts.sequences_in_train;
      if (split == Split::train)
        hash_.each_run(values, [&](int64_t, uint64_t run) {
          if (runs_.contains(run)) found_.insert(run);
        });
    }
    facts.distinct_values = int64_t(used.size());
    if (split == Split::train) train_ = std::move(own);
  }

  void look_up_runs() {
    for (const uint64_t run : found_)
      for (const Split split : {Split::validation, Split::test})
        out_.splits[size_t(split)].runs_in_train += runs_[run][size_t(split)];
  }

  PreparedData data_;
  fs::path folder_;
  RollingHash hash_;
  std::unordered_map<uint64_t, std::array<int64_t, 3>> runs_;
  std::unordered_set<uint64_t> found_;
  std::unordered_set<std::string> train_;
  Audit out_;
};

}  // namespace

Audit audit(const fs::path& folder) { return Auditor(folder).run(); }

}  // namespace darope
