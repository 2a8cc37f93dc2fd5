#pragma once
#include <optional>
#include <string>

#include "model/config.h"

namespace darope {

// The ids around a document of text; other data has none.
struct DocumentIds {
  std::optional<int64_t> begin = {}, end = {};
};

// config.json: what stock readers of Llama-like checkpoints ask for, and the position encoding under a key of
// its own.
std::string hugging_face_config(const DecoderConfig& config, const DocumentIds& ids = {});

}  // namespace darope
