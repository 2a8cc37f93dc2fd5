#pragma once
#include "data/batch.h"
#include "model/decoder.h"

namespace darope {

// What the model answers when it reads its own answer, greedily: [N], beside the batch's targets. All examples go on together, one
// place at a time, from the shortest prompt's end to the longest answer's; before its answer begins, an example reads its prompt.
Tensor free_running(Decoder& model, const Batch& batch);

}  // namespace darope
