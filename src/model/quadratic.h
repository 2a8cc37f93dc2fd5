#pragma once
#include "model/config.h"

namespace darope {

// Attention that keeps a score for every pair of tokens takes memory by the square of the length. Over long
// sequences it is an Error that names the layer and what it would take, unless that is `allowed`; `how` names
// the setting that allows it.
void refuse_quadratic(const DecoderConfig& model, int64_t length, bool allowed, const std::string& how);
// The same where documents that are read apart take a mask of every pair, whatever the encoding.
void refuse_masks(int64_t length, bool allowed, const std::string& how);

}  // namespace darope
