#pragma once
#include <string>

#include "model/config.h"

namespace darope {

// config.json: what stock readers of Llama-like checkpoints ask for, and the position encoding under a key of
// its own.
std::string hugging_face_config(const DecoderConfig& config);

}  // namespace darope
