#pragma once
#include "data/batch.h"
#include "model/decoder.h"

namespace darope {

// What the model answers when it reads its own answer, greedily: [N], beside the batch's targets. Every pass replaces all
// answers by what the model says after the ones it gave before. A token is final once those before it are, so the k-th
// token is final after k passes at the latest, and an answer that a pass leaves alone is what one token at a time would
// give. Most settle in a few passes, each of which serves the whole batch, whatever the lengths of its prompts.
Tensor free_running(Decoder& model, const Batch& batch);

}  // namespace darope
