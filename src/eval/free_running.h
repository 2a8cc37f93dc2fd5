#pragma once
#include "data/batch.h"
#include "model/decoder.h"

namespace darope {

// What the model answers when it reads its own answer, greedily: [N], beside the batch's targets.
Tensor free_running(Decoder& model, const Batch& batch);

}  // namespace darope
