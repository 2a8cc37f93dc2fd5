#pragma once
#include <string>

namespace darope {

// Columns of the terminal that a descriptor is; 0 where it is none, or none tells.
size_t columns_of(int descriptor);

// Lines of prose that are longer than so many columns go on below; with 0 they stay as they are. A word that
// is longer stays whole.
std::string folded(const std::string& text, size_t columns);

}  // namespace darope
