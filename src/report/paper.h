#pragma once
#include <string>

#include "base/json.h"

namespace darope::report {

// What is known beforehand of the paper, its suite and its encodings: assets/paper.json. Everything else that
// a report says it has from the runs, so that no code of it names a task, a family or an encoding.
const Json& paper();

// Whether an encoding is the one meant: "nope" is every variant of it, "rope:base=10000" only those with that
// option, however the number is typed.
bool is_variant(const std::string& encoding, const std::string& meant);

}  // namespace darope::report
