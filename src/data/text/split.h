#pragma once
#include <string_view>

namespace darope {

// The first of the pieces into which a text falls before any merging; the text is not empty. Each is exactly
// what tiktoken's pattern of that name matches. A byte that belongs to no character counts as a symbol.
using SplitRule = std::string_view (*)(std::string_view text);

std::string_view split_cl100k(std::string_view text);
std::string_view split_r50k(std::string_view text);

}  // namespace darope
