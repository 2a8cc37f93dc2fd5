#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runs/checkpoint_dir.h"
#include "runs/curve.h"

namespace darope {

// The folder of a run. What its files are called is known here and in the files beside this one, and nowhere
// else: docs/run-folder.md says what is in each.
class RunFolder {
 public:
  RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.filename().string(); }

  bool is_begun() const;     // it has settings
  bool is_finished() const;  // it has facts
  void require() const;      // an Error where this is no run's folder, which names what it is instead
  // An Error where its manifest or its facts are of a version that is not known here, or cannot be read:
  // asked before anything else is read or written. What is not there yet has no version.
  void require_version() const;

  // Where things are.
  std::filesystem::path config() const;        // settings, with what follows from the data
  std::filesystem::path given_config() const;  // settings as they were given
  std::filesystem::path model_config() const;  // as a checkpoint has it
  std::filesystem::path manifest() const;      // what ran where
  std::filesystem::path facts() const;         // what the run says of itself when it ends
  std::filesystem::path scores() const;
  std::filesystem::path best_scores() const;  // of the lowest validation loss
  std::filesystem::path metrics() const;      // one line per logged step
  std::filesystem::path validations() const;  // one line per validation
  std::filesystem::path tensorboard() const;  // a folder
  std::filesystem::path log() const;          // the same in words
  std::filesystem::path history() const;      // what the run was begun from, and what changed since
  std::filesystem::path checkpoints() const;  // a folder
  std::filesystem::path best() const;         // a folder
  std::filesystem::path lock() const;
  // The prompts made of a text for its model and its neighbours'.
  std::filesystem::path prompts_beside(const std::string& text, int64_t length) const;

  // What `darope eval` found with the checkpoint of a step; `variant` says how it was evaluated.
  RunFolder evaluation(const std::string& step, const std::string& variant) const;
  std::filesystem::path evaluations_folder() const;
  // Those that are compared as runs are, by name: evaluations of their own, of the finished run's last step.
  std::vector<RunFolder> evaluations() const;

  bool has_checkpoints() const { return !list_checkpoints(checkpoints()).empty(); }
  std::string read_history() const;               // "" if nothing changed
  std::string fact(const char* key) const;        // written at its beginning or at its end; "" if never
  std::optional<CurvePoint> last_logged() const;  // nothing before the first line

  void begin(const std::string& given, const std::string& config, const std::string& manifest,
             const std::string& model) const;
  void forget_end() const;  // removes what another end of this run has left: facts and scores

 private:
  std::filesystem::path path_;
};

// The files of a checkpoint.
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optim.safetensors";
inline constexpr const char* kTrainStateFile = "train_state.json";
inline constexpr const char* kModelConfigFile = "config.json";  // as Hugging Face reads it
inline constexpr const char* kSettingsFile = "config.yaml";     // of the run when it was saved

// The folder of a comparison.
class ComparisonFolder {
 public:
  ComparisonFolder(std::filesystem::path path) : path_(std::move(path)) {}
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path runs() const;  // the folder of their folders
  RunFolder run(const std::string& name) const { return {runs() / name}; }
  std::filesystem::path page() const;     // the report, to look at
  std::filesystem::path results() const;  // the report, for programs
  std::filesystem::path record() const;   // what was fixed before the runs, and what rounds decided
  std::filesystem::path report_lock() const;
  std::filesystem::path lock(
      const std::string& share) const;  // "" the whole plan, or one machine's share of it
  // Of those who may not be at work beside that share: one share does not exclude another.
  std::vector<std::filesystem::path> locks_against(const std::string& share) const;
  std::filesystem::path jobs() const;                           // the folder of what follows
  std::filesystem::path job(const std::string& run) const;      // the settings a run is started with
  std::filesystem::path job_log(const std::string& run) const;  // what it said

 private:
  std::filesystem::path path_;
};

// Those beneath `folder` that have settings, by name.
std::vector<RunFolder> runs_in(const std::filesystem::path& folder);
// An Error that names some, where `folder` holds runs and one of them is asked for.
void refuse_comparison(const std::filesystem::path& folder);

}  // namespace darope
