#pragma once
#include "data/prepared/kind.h"

namespace darope {

// One for each line of the table in kinds.cpp, in the file of its name.
void prepare_jsb(const PrepareRequest& request, Preparation& out);
std::string show_chorale(std::span<const int64_t> tokens);

}  // namespace darope
