#pragma once
#include "runs/facts.h"
#include "settings/run.h"

namespace darope {

// Equal for runs that differ in the encoding, the seed, and what may change between two lives of a run.
std::string hash_without_encoding(RunConfig config, const std::string& history);
// The same of a finished run, from its own config: a setting that was not there yet when it ran stands at its
// default, so that runs of an older and a newer program can be compared. A config that this program cannot
// read keeps the hash that the run recorded.
std::string settings_beyond_encoding(const std::string& config, const RunFacts& facts);

}  // namespace darope
