#pragma once
#include <map>
#include <string>

#include "runs/runs.h"

namespace darope {

// What the files of a finished run hashed to when it ended, by their path in its folder; run.json keeps it.
using FileHashes = std::map<std::string, std::string>;

// Every file that the run writes, but for what it does not end with: evaluations, and weights, whose own
// manifests are among them. The curve that a bundle makes of metrics.jsonl has an entry of its own.
FileHashes hashes_of(const RunFolder& run);

// An Error that names each file of a run that is not what it wrote, run.json included. What is not there is
// left to those who need it. Runs of the first two versions keep no hashes, and pass.
void check_hashes(const RunFiles& files);

}  // namespace darope
