#pragma once
#include "data/batch.h"
#include "model/decoder.h"

namespace darope {

// What the model answers when it reads its own answer, greedily: [N], beside the batch's targets.
Tensor free_running(Decoder& model, const Batch& batch);

int64_t examples_at_once(const Decoder& model, int64_t length);  // of that length, in one forward pass

}  // namespace darope
