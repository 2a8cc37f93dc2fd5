#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runs/runs.h"

namespace darope {

// A bundle is a comparison without its weights in one file small enough to mail: a tar archive packed with
// zstd, which `tar -xf` turns into a folder that darope reads just so. It holds runs/NAME/{config.yaml,
// metrics.jsonl, results.jsonl, results-best.jsonl, run.json} of every finished run, sorted, without owners
// or times: the same runs packed alike give the same bytes. metrics.jsonl is the training loss alone,
// averaged down to what a report draws; the others are as they were. comparison.json, where there is one,
// says what was fixed before the runs.

// What a bundle may ask of us before it is taken for an attack.
struct BundleLimits {
  int64_t file_bytes = int64_t{64} << 20, total_bytes = int64_t{2} << 30;
  int zstd_window_log = 27;
};

// Hundreds of runs take half a minute to pack small, a second or two to pack quickly into a third more.
enum class Packing { kSmall, kQuick };

// Packs the finished runs of comparisons (folders or bundles) and returns how many they are. Runs of a bundle
// that is already there stay in it; a run that two sources tell differently is an Error, and nothing is
// written.
size_t write_bundle(const std::filesystem::path& file, const std::vector<std::filesystem::path>& comparisons,
                    Packing packing = Packing::kSmall);

// Calls `use` with every run, and `recorded` with the record if it is asked for and there. Anything but the
// files above, a name that leads elsewhere, a file cut short or one beyond the limits is an Error that begins
// with the bundle's name.
void read_bundle(const std::filesystem::path& file, const std::function<void(RunFiles)>& use,
                 const std::function<void(const ComparisonRecord&)>& recorded = {});
void parse_bundle(std::span<const std::byte> bytes, const std::string& name, const BundleLimits& limits,
                  const std::function<void(RunFiles)>& use,
                  const std::function<void(const ComparisonRecord&)>& recorded = {});

}  // namespace darope
