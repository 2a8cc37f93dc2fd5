#pragma once
#include <string>
#include <vector>

#include "base/fields.h"
#include "cli/common/table.h"

namespace darope {

// Verbs that compute stand in a program of their own, which loads torch: half a second and half a gigabyte
// that `darope --help` does not want. What there is to know of them stands here since the build.
const std::vector<VerbTable>& compute_verbs();
const nlohmann::ordered_json& encoding_rows();  // the table of encodings
std::vector<std::string> encoding_order();      // their names, as reports list them

// Settings that name something of that program, with the names there are.
std::vector<Field> with_names(std::vector<Field> settings);

// Becomes that program, with the same words; comes back only where it is not there.
[[noreturn]] void compute(char** argv);

}  // namespace darope
