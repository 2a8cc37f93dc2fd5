#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"

namespace darope {

// The life of checkpoints on disk. `root` is a run's checkpoints/ folder; a checkpoint is root/0000001000/
// with its files, MANIFEST.json (bytes and sha256 of each) and an empty COMPLETE. It is written as
// root/.tmp-1000 and made durable file by file; MANIFEST.json comes last, then the rename, then COMPLETE:
// what bears a step's name was whole once. Without COMPLETE, which tools that drop empty files lose, every
// hash is checked. A checkpoint may be a link to where it was moved; nothing but what bears a temporary name
// is ever deleted unasked.

// What a save writes with; each file is durable and known to the manifest when its call returns.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void write(const std::string& name, const std::function<void(FileWriter&)>& fill);
  void write(const std::string& name, std::string_view text);
  std::string manifest() const;

 private:
  struct Entry {
    std::string name;
    int64_t bytes;
    std::string sha256;
  };
  std::filesystem::path folder_;
  std::vector<Entry> entries_;
};

// Saves one step, or leaves nothing that could be taken for a checkpoint. One of that step that is already
// there is replaced.
void write_checkpoint(const std::filesystem::path& root, int64_t step,
                      const std::function<void(CheckpointFiles&)>& write);

bool is_checkpoint(const std::filesystem::path& folder);  // or was meant to be one: it has a manifest
bool is_checkpoint_manifest(const std::filesystem::path& file);

enum class Verify { kSizes, kHashes };
// Why a checkpoint's folder cannot be trusted; nothing if it can.
std::optional<std::string> checkpoint_problem(const std::filesystem::path& folder, Verify how);

struct Checkpoint {
  int64_t step;
  std::filesystem::path folder;
};
std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& root);  // sound or not, oldest first
// The newest sound one; each damaged one it passes over is named on stderr. Nothing if there are no
// checkpoints; Error if there are and none is sound, for then starting over would not be what anyone asked
// for.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& root, Verify how = Verify::kHashes);

// Gives a checkpoint whose every hash holds the mark back that a tool has lost. For who may write there.
void mark_complete(const std::filesystem::path& folder);

void remove_checkpoint(const std::filesystem::path& folder);
// Deletes all but the newest `keep`, and only once the newest has been verified in full.
void retain_checkpoints(const std::filesystem::path& root, int64_t keep);
// Deletes what killed saves and deletions left. For the one process that writes there, before it begins.
void clean_checkpoints(const std::filesystem::path& root);

}  // namespace darope
