#include <fmt/format.h>

#include "base/error.h"
#include "cli/verbs.h"
#include "runs/run_folder.h"

namespace darope {
namespace {

namespace fs = std::filesystem;

// DIR is a run's folder, its checkpoints/, or one checkpoint.
std::vector<Checkpoint> checkpoints_in(const fs::path& folder) {
  if (is_checkpoint(folder)) return {{0, folder}};
  const RunFolder run(folder);
  if (run.is_begun()) run.require_version();
  std::vector<Checkpoint> out;
  for (const fs::path& root : {run.checkpoints(), run.best(), folder})
    for (const Checkpoint& each : list_checkpoints(root)) out.push_back(each);
  if (!out.empty()) return out;
  refuse_comparison(folder);
  throw Error(fmt::format("{} holds no complete checkpoint: give a run's folder or one checkpoint's",
                          folder.string()));
}

int64_t bytes_in(const fs::path& folder) {
  int64_t sum = 0;
  for (const fs::directory_entry& each : fs::directory_iterator(folder))
    sum += each.is_regular_file() ? int64_t(each.file_size()) : 0;
  return sum;
}

void list(const std::string& folder) {
  for (const Checkpoint& each : checkpoints_in(folder))
    fmt::print("{}  {:.1f} MB\n", each.folder.string(), double(bytes_in(each.folder)) / 1e6);
}

void verify(const std::string& folder) {
  int64_t bad = 0;
  for (const Checkpoint& each : checkpoints_in(folder)) {
    const std::optional<std::string> problem = checkpoint_problem(each.folder, Verify::kHashes);
    fmt::print("{}  {}\n", each.folder.string(), problem ? *problem : "sound");
    bad += problem.has_value();
  }
  if (bad)
    throw Error(fmt::format("{} of the checkpoints in {} cannot be trusted", bad, folder), kCheckFailed);
}

}  // namespace

void add_ckpt(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("ckpt", "list a run's checkpoints, or check every byte of them");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*work)(const std::string&)) {
    CLI::App* sub = verb->add_subcommand(name, help);
    sub->add_option("DIR", *folder, "a run's folder, or one checkpoint's")->required();
    sub->callback([folder, work] { work(*folder); });
  };
  add("list", "complete checkpoints, with their sizes", list);
  add("verify", "compare every file with its checksum; exit code 3 if one differs", verify);
}

}  // namespace darope
