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

bool is_hashed(const fs::path& file, const RunFolder& run) {
  const fs::path relative = file.lexically_relative(run.path());
  const bool of_checkpoint =
      *relative.begin() == run.checkpoints().filename() || *relative.begin() == run.best().filename();
  return relative.filename().string()[0] != '.' && file != run.facts() &&
         (!of_checkpoint || is_checkpoint_manifest(file));
}

// Files that travel in bundles, by the name in a run's folder; their texts are at hand.
std::map<std::string, const std::string*> texts_of(const RunFiles& files) {
  const RunFolder run(files.folder);
  return {{run.config().filename(), &files.config},
          {run.metrics().filename(), &files.metrics},
          {run.scores().filename(), &files.scores},
          {run.best_scores().filename(), &files.best_scores}};
}

bool leads_out(const fs::path& name) {
  return name.empty() || name.is_absolute() || *name.lexically_normal().begin() == "..";
}

}  // namespace

FileHashes hashes_of(const RunFolder& run) {
  FileHashes hashes;
  for (auto each = fs::recursive_directory_iterator(run.path()); each != fs::recursive_directory_iterator();
       ++each) {
    if (each->path() == run.evaluations_folder()) each.disable_recursion_pending();
    if (each->is_regular_file() && !each->is_symlink() && is_hashed(each->path(), run))
      hashes[each->path().lexically_relative(run.path())] = sha256_of_file(each->path());
  }
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
    if (leads_out(name)) throw Error(fmt::format("{} names a file outside its folder", where));
    return fs::exists(files.folder / name) && sha256_of_file(files.folder / name) != hash;
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
