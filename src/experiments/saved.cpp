#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "experiments/compare.h"
#include "experiments/past.h"
#include "runs/bundle.h"

namespace darope {
namespace fs = std::filesystem;
std::map<std::string, fs::path> finished_in(const std::vector<RunConfig>& plan, const fs::path& bundle) {
  std::map<std::string, const RunConfig*> wanted;
  for (const RunConfig& config : plan) wanted[config.name] = &config;
  std::map<std::string, fs::path> folders;
  read_bundle(bundle, [&](const RunFiles& run) {
    const auto found = wanted.find(run.name);
    if (found == wanted.end()) return;
    check_same_config(run.config, RunFolder(run.folder).config(), *found->second);
    check_same_data(run.folder, data_order_of(run), *found->second);
    folders[run.name] = found->second->dump_dir;
  });
  return folders;
}

void take_finished(const std::vector<RunConfig>& plan, const fs::path& bundle) {
  const std::map<std::string, fs::path> folders =
      finished_in(plan, bundle);  // a look at all before anything is written
  size_t taken = 0, there = 0, others = 0;
  read_bundle(bundle, [&](const RunFiles& run) {
    const auto found = folders.find(run.name);
    if (found == folders.end()) return void(++others);
    if (fs::exists(found->second)) return void(++there);
    unpack(run, found->second);
    ++taken;
  });
  fmt::print(
      stderr,
      "{}: {} finished runs taken, {} left out because their folders are here, {} of no use to this plan\n",
      bundle.string(), taken, there, others);
}

std::vector<RunConfig> share_of(const std::vector<RunConfig>& plan, const Shard& shard) {
  std::vector<RunConfig> share;
  std::map<std::string, int64_t>
      places;  // of the trainings: a run that scores another's weights is beside it
  for (const RunConfig& run : plan)
    if (run.weights_of.empty()) places.emplace(run.name, int64_t(places.size()));
  for (const RunConfig& run : plan)
    if (places.at(run.weights_of.empty() ? run.name : run.weights_of) % shard.count == shard.index)
      share.push_back(run);
  return share;
}

}  // namespace darope
