#pragma once
#include <string>
#include <vector>

#include "base/fields.h"
#include "cli/common/table.h"

namespace darope {

// An Error for a verb or an option that is none, with what was probably meant: another verb, an option, or a
// setting with its value. `words` are those behind the program's name.
void check_words(const VerbTable& program, const std::vector<std::string>& words);

// The settings that a verb takes, at their defaults; none where it takes none.
std::vector<Field> settings_of(const VerbTable& verb);

}  // namespace darope
