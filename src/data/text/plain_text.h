#pragma once
#include <filesystem>

#include "data/text/unpack.h"

namespace darope {

// Hands on a file of text, plain or packed, in parts of about a megabyte. Parts end between a letter and a
// space, where every tokenizer of text ends a piece, so that the tokens of the parts are those of the whole.
// Text that has no such place for `longest` bytes is cut there. A zero byte is a BadInput.
void read_plain_text(const std::filesystem::path& path, const UnpackLimits& limits, size_t longest,
                     const std::function<void(std::string_view)>& part);

}  // namespace darope
