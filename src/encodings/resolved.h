#pragma once
#include "encodings/encoding.h"

namespace darope {

// An encoding with its alias spelled out and its options in one order, given or not: equal for "rope",
// "rope-500k" and "rope:base=5e5". Checked as create_encoding() does.
std::string resolved_encoding(const std::string& text, const LayerShape& shape);

}  // namespace darope
