#include "runs/bundle.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "runs/curve.h"
#include "runs/hashes.h"
#include "runs/lock.h"
#include "runs/tar.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr int kSmallLevel = 19,
              kQuickLevel = 12;  // of zstd; the quick one takes a twentieth of the time and a third more room
constexpr std::string_view kRecordFile = "comparison.json";
constexpr int64_t kMostRecordBytes = 4 << 20;
constexpr size_t kLongestFolder = 150;  // "runs/" before it fills a tar header's prefix

// The files of a run. Readers keep the texts of two of them, so those are small.
struct Member {
  std::string_view file;
  std::string RunFiles::* text;
  int64_t most_bytes;
};
constexpr Member kMembers[] = {{"config.yaml", &RunFiles::config, 1 << 20},
                               {"metrics.jsonl", &RunFiles::metrics, INT64_MAX},
                               {"results-best.jsonl", &RunFiles::best_scores, INT64_MAX},
                               {"results.jsonl", &RunFiles::scores, INT64_MAX},
                               {"run.json", &RunFiles::facts, 1 << 20}};

// A name that can only be a folder of its own beneath runs/.
bool is_plain(std::string_view name) {
  const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= kLongestFolder && name != "." && name != ".." &&
         !is_leftover(name) && std::all_of(name.begin(), name.end(), allowed);
}

class ZstdWriter {
 public:
  ZstdWriter(const fs::path& path, int level)
      : file_(path), context_(ZSTD_createCCtx(), ZSTD_freeCCtx), out_(ZSTD_CStreamOutSize()) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  void write(std::string_view bytes) { pack(bytes, ZSTD_e_continue); }
  void commit() {
    pack({}, ZSTD_e_end);
    file_.commit();
  }

 private:
  void pack(std::string_view bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (size_t left = 1; how == ZSTD_e_end ? left > 0 : in.pos < in.size;) {
      ZSTD_outBuffer room{out_.data(), out_.size(), 0};
      left = ZSTD_compressStream2(context_.get(), &room, &in, how);
      if (ZSTD_isError(left))
        throw Error(std::string("zstd cannot pack: ") + ZSTD_getErrorName(left), kFailed);
      file_.write({out_.data(), room.pos});
    }
  }

  FileWriter file_;
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context_;
  std::vector<char> out_;
};

class ZstdReader {
 public:
  ZstdReader(std::span<const std::byte> bytes, std::string name, const BundleLimits& limits)
      : name_(std::move(name)),
        limits_(limits),
        context_(ZSTD_createDCtx(), ZSTD_freeDCtx),
        in_{bytes.data(), bytes.size(), 0} {
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, limits.zstd_window_log);
  }

  // Fills `out`, or as much of it as there is up to the end.
  size_t read(std::span<char> out) {
    ZSTD_outBuffer room{out.data(), out.size(), 0};
    while (room.pos < room.size && !(ended_ && in_.pos == in_.size)) {
      const size_t before = in_.pos, had = room.pos;
      const size_t status = ZSTD_decompressStream(context_.get(), &room, &in_);
      if (ZSTD_isError(status))
        throw Error(fmt::format("{} is damaged or no bundle: {}", name_, ZSTD_getErrorName(status)));
      ended_ = status == 0;
      if (!ended_ && in_.pos == before && room.pos == had)
        throw Error(name_ + " is cut short: its zstd frame does not end");
    }
    total_ += int64_t(room.pos);
    if (total_ > limits_.total_bytes)
      throw Error(
          fmt::format("{} unpacks to more than {} bytes, which no bundle does", name_, limits_.total_bytes));
    return room.pos;
  }

 private:
  std::string name_;
  const BundleLimits& limits_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  ZSTD_inBuffer in_;
  bool ended_ = false;
  int64_t total_ = 0;
};

// Goes through the archive and hands on each run when its folder is through.
class BundleReader {
 public:
  BundleReader(std::span<const std::byte> bytes, const std::string& name, const BundleLimits& limits,
               const std::function<void(RunFiles)>& use,
               const std::function<void(const ComparisonRecord&)>& recorded)
      : name_(name), limits_(limits), use_(use), recorded_(recorded), bytes_(bytes, name, limits) {}

  void read() {
    TarBlock block;
    for (;;) {
      if (bytes_.read(block) != block.size()) throw Error(name_ + " is cut short: its archive does not end");
      const std::optional<TarEntry> entry = read_tar_header(block, name_);
      if (!entry) break;
      if (entry->type != '5') take(*entry);  // folders are made by the files in them
    }
    hand_on();
    while (const size_t count = bytes_.read(block))  // archives end in as many zeros as their writer likes
      if (std::any_of(block.begin(), block.begin() + long(count), [](char c) { return c != 0; }))
        throw Error(name_ + ": something follows the end of its archive");
  }

 private:
  void take(const TarEntry& entry) {
    const std::string shown_path = shown(entry.path);
    if (entry.type != '0')
      throw Error(fmt::format("{}: {} is no plain file, and a bundle holds nothing else", name_, shown_path));
    std::string_view path = entry.path;
    if (path.starts_with("./")) path.remove_prefix(2);
    if (path == kRecordFile) return take_record(entry.bytes);
    const size_t slash = path.rfind('/');
    const std::string_view file = path.substr(slash + 1),
                           folder = path.substr(0, std::min(slash, path.size()));
    const auto member = std::find_if(std::begin(kMembers), std::end(kMembers),
                                     [&](const Member& m) { return m.file == file; });
    if (!folder.starts_with("runs/") || !is_plain(folder.substr(5)) || member == std::end(kMembers))
      throw Error(
          fmt::format("{}: {} has no place in a bundle, which holds runs/NAME/ with config.yaml, "
                      "metrics.jsonl, results.jsonl, results-best.jsonl and run.json, and comparison.json",
                      name_, shown_path));
    check_size(shown_path, entry.bytes, member->most_bytes);
    if (folder.substr(5) != run_.name) {
      hand_on();
      run_.name = folder.substr(5);
    }
    if (!seen_.insert(std::string(path)).second)
      throw Error(fmt::format("{}: {} stands twice", name_, shown_path));
    run_.*(member->text) = content(entry.bytes);
  }

  void take_record(int64_t bytes) {
    check_size(std::string(kRecordFile), bytes, kMostRecordBytes);
    if (!seen_.insert(std::string(kRecordFile)).second)
      throw Error(fmt::format("{}: {} stands twice", name_, kRecordFile));
    const ComparisonRecord record = parse_record(content(bytes), fmt::format("{}/{}", name_, kRecordFile));
    if (recorded_) recorded_(record);
  }

  void check_size(const std::string& path, int64_t bytes, int64_t allowed) const {
    if (const int64_t most = std::min(limits_.file_bytes, allowed); bytes > most)
      throw Error(fmt::format("{}: {} has {} bytes, more than the {} it may have", name_, path, bytes, most));
  }

  std::string content(int64_t bytes) {
    std::string text;
    TarBlock block;
    while (int64_t(text.size()) < bytes) {  // not by the header's word: what it promises may not be there
      if (bytes_.read(block) != block.size()) throw Error(name_ + " is cut short: its archive does not end");
      text.append(block.data(), std::min(block.size(), size_t(bytes) - text.size()));
    }
    return text;
  }

  void hand_on() {
    if (run_.name.empty()) return;
    if (run_.facts.empty())
      throw Error(fmt::format("{}: runs/{} has no run.json, so it is not finished", name_, run_.name));
    run_.folder = fs::path(name_) / "runs" / run_.name;
    run_.bundled = true;
    check_hashes(run_);
    use_(std::exchange(run_, {}));
  }

  std::string name_;
  const BundleLimits& limits_;
  const std::function<void(RunFiles)>& use_;
  const std::function<void(const ComparisonRecord&)>& recorded_;
  ZstdReader bytes_;
  RunFiles run_;
  std::set<std::string> seen_;
};

void write_member(ZstdWriter& out, const std::string& folder, std::string_view file,
                  const std::string& text) {
  const TarBlock header = tar_header(folder, file, int64_t(text.size()));
  out.write({header.data(), header.size()});
  out.write(text);
  out.write(std::string((kTarBlock - text.size() % kTarBlock) % kTarBlock, '\0'));
}

void write_run(ZstdWriter& out, const RunFiles& run) {
  for (const Member& member : kMembers)
    if (const std::string& text = run.*(member.text); !text.empty())
      write_member(out, "runs/" + run.name, member.file, text);
}

}  // namespace

size_t write_bundle(const fs::path& file, const std::vector<fs::path>& comparisons, Packing packing) {
  const Lock lock(lock_beside(file), fmt::format("packing {}", file.string()));
  remove_leftovers_of(file);
  std::vector<fs::path> sources = comparisons;
  if (fs::exists(file)) sources.push_back(file);
  std::map<std::string, RunFiles> runs;
  const auto add = [&](RunFiles run) {
    if (!is_plain(run.name))
      throw Error(
          fmt::format("{}: a run's folder in a bundle has at most {} letters, digits, '.', '-' and '_'",
                      run.folder.string(), kLongestFolder));
    run.metrics = metrics_lines(read_curve(run.metrics, RunFolder(run.folder).metrics().string()));
    const auto [at, fresh] = runs.emplace(run.name, run);
    if (!fresh && at->second.facts != run.facts)
      throw Error(fmt::format(
          "{} and {} are not the same run: give the bundle another name, or leave one of them out",
          at->second.folder.string(), run.folder.string()));
  };
  ComparisonRecord record;
  for (const fs::path& source : sources)
    each_run(
        source, add, [](const fs::path&) {},
        [&](const ComparisonRecord& other) { record.join(other, source.string()); });
  ZstdWriter out(file, packing == Packing::kSmall ? kSmallLevel : kQuickLevel);
  if (!record.datasets.empty()) write_member(out, "", kRecordFile, to_text(record));
  for (const auto& [name, run] : runs) write_run(out, run);
  out.write(std::string(2 * kTarBlock, '\0'));
  out.commit();
  return runs.size();
}

void read_bundle(const fs::path& file, const std::function<void(RunFiles)>& use,
                 const std::function<void(const ComparisonRecord&)>& recorded) {
  parse_bundle(MappedFile(file).bytes(), file.string(), BundleLimits{}, use, recorded);
}

void parse_bundle(std::span<const std::byte> bytes, const std::string& name, const BundleLimits& limits,
                  const std::function<void(RunFiles)>& use,
                  const std::function<void(const ComparisonRecord&)>& recorded) {
  BundleReader(bytes, name, limits, use, recorded).read();
}

}  // namespace darope
