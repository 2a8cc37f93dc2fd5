#include "runs/checkpoint_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "runs/lines.h"
#include "runs/run_folder.h"

namespace darope {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "MANIFEST.json";
constexpr const char* kComplete = "COMPLETE";
constexpr std::string_view kTemporary = ".tmp-";

std::string folder_name(int64_t step) { return fmt::format("{:010}", step); }

std::optional<int64_t> step_of(const std::string& name) {
  if (name.size() != 10 || name.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(name);
}

std::vector<fs::path> entries_of(const fs::path& root) {
  std::vector<fs::path> out;
  if (fs::is_directory(root))
    for (const fs::directory_entry& entry : fs::directory_iterator(root)) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

fs::path temporary_of(const fs::path& root, int64_t step) {
  return root / fmt::format("{}{}", kTemporary, step);
}

void warn(const fs::path& folder, const std::string& what) {
  std::fprintf(stderr, "darope: WARNING: checkpoint %s %s\n", folder.c_str(), what.c_str());
}

// After a failed save: a full disk gets its space back. The failure itself is what the caller reports.
void give_up(const fs::path& temporary, const fs::path& folder, bool renamed) {
  try {
    remove_tree(temporary);
    if (renamed) remove_checkpoint(folder);
  } catch (const Error&) {
  }
}

std::optional<std::string> entry_problem(const fs::path& folder, const Json& entry, Verify how) {
  const std::string name = entry.at("file"), hash = entry.at("sha256");
  const int64_t bytes = entry.at("bytes");
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  if (!plain) return std::string(kManifest) + " names a file outside the folder";
  const int64_t found = size_of_file(folder / name);
  if (found != bytes) return fmt::format("{} has {} bytes, not {}", name, found, bytes);
  if (how == Verify::kHashes && sha256_of_file(folder / name) != hash)
    return name + " does not have the bytes that were written (sha256 differs)";
  return std::nullopt;
}

// What no checkpoint is without; the optimizer is not kept with the best weights.
std::optional<std::string> missing_file(const fs::path& folder, const std::set<std::string>& listed) {
  std::vector<const char*> needed{kModelFile, kTrainStateFile};
  if (folder.parent_path().filename() == RunFolder("").checkpoints()) needed.push_back(kOptimizerFile);
  for (const char* name : needed)
    if (!listed.contains(name)) return fmt::format("{} does not list {}", kManifest, name);
  return std::nullopt;
}

std::optional<std::string> step_problem(const fs::path& folder) {
  const std::optional<int64_t> named = step_of(folder.filename());
  if (!named) return std::nullopt;  // copied elsewhere, under a name of its own
  const int64_t step = need<int64_t>(parse_json(read_file(folder / kTrainStateFile), kTrainStateFile), "step",
                                     kTrainStateFile);
  if (step == *named) return std::nullopt;
  return fmt::format("{} says step {}, its folder {}", kTrainStateFile, step, *named);
}

// However it was typed: with a slash behind it, or as "." from inside.
fs::path with_its_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

}  // namespace

// A deletion cut short must not look like a checkpoint: the name goes first, and for good. A link goes, and
// what it leads to stays.
void remove_checkpoint(const fs::path& folder) {
  const fs::path gone =
      folder.parent_path() / fmt::format("{}gone-{}", kTemporary, folder.filename().string());
  remove_tree(gone);
  rename_path(folder, gone);
  remove_tree(gone);
}

void CheckpointFiles::write(const std::string& name, const std::function<void(FileWriter&)>& fill) {
  FileWriter out(folder_ / name);
  fill(out);
  out.commit();
  entries_.push_back({name, out.bytes(), out.sha256()});
}

void CheckpointFiles::write(const std::string& name, std::string_view text) {
  write(name, [&](FileWriter& out) { out.write(text); });
}

std::string CheckpointFiles::manifest() const {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const Entry& entry : entries_)
    files.push_back({{"file", entry.name}, {"bytes", entry.bytes}, {"sha256", entry.sha256}});
  return nlohmann::ordered_json{{"files", files}}.dump(1) + "\n";
}

void write_checkpoint(const fs::path& root, int64_t step,
                      const std::function<void(CheckpointFiles&)>& write) {
  const fs::path folder = root / folder_name(step), temporary = temporary_of(root, step);
  remove_tree(temporary);
  make_directories(temporary);
  bool renamed = false;
  try {
    CheckpointFiles files(temporary);
    write(files);
    const std::string manifest = files.manifest();
    if (fs::exists(fs::symlink_status(folder))) {
      if (!checkpoint_problem(folder, Verify::kHashes) && read_file(folder / kManifest) == manifest)
        return remove_tree(temporary);
      remove_checkpoint(folder);
    }
    write_file(temporary / kManifest, manifest);
    renamed = true;
    rename_path(temporary, folder);
    write_file(folder / kComplete, "");
  } catch (...) {
    give_up(temporary, folder, renamed);
    throw;
  }
}

bool is_checkpoint(const fs::path& folder) { return fs::exists(folder / kManifest); }
bool is_checkpoint_manifest(const fs::path& file) { return file.filename() == kManifest; }

std::optional<std::string> checkpoint_problem(const fs::path& typed, Verify how) {
  const fs::path folder = with_its_name(typed);
  if (!fs::exists(folder / kComplete)) how = Verify::kHashes;  // then its bytes have to speak for it
  try {
    const Json manifest = parse_json(read_file(folder / kManifest), kManifest);
    std::set<std::string> listed;
    for (const Json& entry : manifest.at("files")) {
      if (const auto problem = entry_problem(folder, entry, how)) return problem;
      if (!listed.insert(entry.at("file")).second)
        return fmt::format("{} lists {} twice", kManifest, entry.at("file").get<std::string>());
    }
    if (const auto missing = missing_file(folder, listed)) return missing;
    return step_problem(folder);
  } catch (const Error& e) {
    return e.what();
  } catch (const Json::exception&) {
    return std::string(kManifest) + " is not a list of files";
  }
}

void mark_complete(const fs::path& folder) {
  if (!fs::is_symlink(folder) && !fs::exists(fs::symlink_status(folder / kComplete)))
    write_file(folder / kComplete, "");
}

std::vector<Checkpoint> list_checkpoints(const fs::path& root) {
  std::vector<Checkpoint> out;
  for (const fs::path& folder : entries_of(root))
    if (const auto step = step_of(folder.filename())) out.push_back({*step, folder});
  return out;
}

std::optional<Checkpoint> newest_checkpoint(const fs::path& root, Verify how) {
  std::vector<Checkpoint> all = list_checkpoints(root);
  if (all.empty()) return std::nullopt;
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const auto problem = checkpoint_problem(each->folder, how);
    if (!problem) return *each;
    warn(each->folder, "is damaged and will not be used: " + *problem);
  }
  throw Error(fmt::format("none of the {} checkpoints in {} is sound; move them away to start over",
                          all.size(), root.string()),
              kCheckFailed);
}

void retain_checkpoints(const fs::path& root, int64_t keep) {
  if (keep < 1) throw Error(fmt::format("at least 1 checkpoint must be kept, not {}", keep));
  const std::vector<Checkpoint> all = list_checkpoints(root);
  if (int64_t(all.size()) <= keep) return;
  if (const auto problem = checkpoint_problem(all.back().folder, Verify::kHashes)) {
    warn(all.back().folder, "is damaged, so older ones are kept: " + *problem);
    return;
  }
  for (size_t i = 0; i + size_t(keep) < all.size(); ++i) remove_checkpoint(all[i].folder);
}

void clean_checkpoints(const fs::path& root) {
  for (const fs::path& each : entries_of(root)) {
    if (each.filename().string().starts_with(kTemporary)) remove_tree(each);
    if (fs::is_directory(fs::symlink_status(each)))
      remove_leftovers(each);  // killed before COMPLETE was there
  }
}

}  // namespace darope
