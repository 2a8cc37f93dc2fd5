#pragma once
#include "experiments/compare.h"

namespace darope {

// A comparison on somebody's own file or folder of texts, or on a prepared dataset: context, model and steps
// are chosen from its size and vocabulary, so that six encodings with two seeds take minutes on two cores. A
// function of the file alone, so that the same command goes on where it stopped.
CompareConfig config_for(const std::filesystem::path& given);
// As the runs have it, which go on under every name of a path: ./my.txt is my.txt, and notes/ is notes.
std::filesystem::path plain_path(const std::filesystem::path& typed);
// Steps between lines of the log, so that there are enough of them to see where the loss goes.
int64_t logging_for(int64_t steps);

}  // namespace darope
