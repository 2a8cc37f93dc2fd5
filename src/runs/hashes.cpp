#include "runs/hashes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/seal.h"
#include "base/sha256.h"
#include "runs/curve.h"
#include "runs/facts.h"
#include "runs/lines.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr const char* kThinned = "metrics.jsonl of a bundle";

std::vector<fs::path> single_files(const RunFolder& run) {
  return {run.config(),      run.given_config(), run.model_config(), run.manifest(), run.metrics(),
          run.validations(), run.log(),          run.history(),      run.scores(),   run.best_scores()};
}

bool is_event_file(const fs::path& file) { return file.filename().string()[0] != '.'; }

// What the run itself writes, where it is there. Others may keep files of theirs beside it.
std::vector<fs::path> own_files(const RunFolder& run) {
  std::vector<fs::path> files = single_files(run);
  const auto is_file = [](const fs::path& file) { return fs::is_regular_file(fs::symlink_status(file)); };
  const auto add_beneath = [&](const fs::path& folder, auto&& is_ours) {
    if (!fs::is_directory(fs::symlink_status(folder))) return;
    for (const fs::directory_entry& each : fs::recursive_directory_iterator(folder))
      if (is_ours(each.path())) files.push_back(each.path());
  };
  add_beneath(run.tensorboard(), is_event_file);
  add_beneath(run.checkpoints(), is_checkpoint_manifest);
  add_beneath(run.best(), is_checkpoint_manifest);
  std::erase_if(files, [&](const fs::path& file) { return !is_file(file); });
  return files;
}

// Files that travel in bundles, by the name in a run's folder; their texts are at hand.
std::map<std::string, const std::string*> texts_of(const RunFiles& files) {
  const RunFolder run(files.folder);
  return {{run.config().filename(), &files.config},
          {run.metrics().filename(), &files.metrics},
          {run.scores().filename(), &files.scores},
          {run.best_scores().filename(), &files.best_scores}};
}

// Whether a run could have written a file of this name: whoever made run.json may have listed any other.
bool is_own(const fs::path& name) {
  if (name.empty() || name != name.lexically_normal()) return false;
  const RunFolder run("");
  const std::vector<fs::path> singles = single_files(run);
  const fs::path folder = *name.begin();
  return std::ranges::find(singles, name) != singles.end() ||
         (folder == run.tensorboard() && is_event_file(name)) ||
         ((folder == run.checkpoints() || folder == run.best()) && is_checkpoint_manifest(name));
}

// As far as its readers go.
std::string hash_within_limits(const fs::path& file) {
  constexpr int64_t kMost = int64_t{4} << 30;
  if (const int64_t bytes = size_of_file(file); bytes > kMost)
    throw Error(fmt::format("{} has {} bytes, more than the {} it may have", file.string(), bytes, kMost));
  return sha256_of_file(file);
}

}  // namespace

FileHashes hashes_of(const RunFolder& run) {
  FileHashes hashes;
  for (const fs::path& file : own_files(run))
    hashes[file.lexically_relative(run.path())] = sha256_of_file(file);
  if (fs::exists(run.metrics()))
    hashes[kThinned] = sha256(metrics_lines(read_curve(read_metrics_file(run), run.metrics().string())));
  return hashes;
}

void check_hashes(const RunFiles& files) {
  const std::string where = RunFolder(files.folder).facts().string();
  const Json facts = parse_json(files.facts, where);
  if (schema_of(facts, where) < kSealedRunSchema && !is_sealed(facts)) return;
  check_seal(facts, where);
  const auto hashes = need<FileHashes>(facts, "files", where);
  const std::map<std::string, const std::string*> texts = texts_of(files);
  const auto differs = [&](const std::string& name, const std::string& hash) {
    if (const auto text = texts.find(name); text != texts.end()) {
      const std::string found = sha256(*text->second);
      const auto thinned =
          name == RunFolder(files.folder).metrics().filename() ? hashes.find(kThinned) : hashes.end();
      return found != hash && (thinned == hashes.end() || found != thinned->second);
    }
    if (files.bundled || name == kThinned) return false;
    if (!is_own(name))
      throw Error(fmt::format("{}: '{}' is no file that a run writes", where, name.substr(0, 200)));
    return fs::exists(files.folder / name) && hash_within_limits(files.folder / name) != hash;
  };
  std::vector<std::string> changed;
  for (const auto& [name, hash] : hashes)
    if (differs(name, hash)) changed.push_back(name);
  for (const auto& [name, text] : texts)
    if (!text->empty() && !hashes.contains(name)) changed.push_back(name);
  if (!changed.empty())
    throw Error(fmt::format("{}: {} {} not what the run wrote (sha256 differs): put {} back as before, or "
                            "train the run again",
                            files.folder.string(), fmt::join(changed, ", "),
                            changed.size() == 1 ? "is" : "are", changed.size() == 1 ? "it" : "them"),
                kCheckFailed);
}

}  // namespace darope
