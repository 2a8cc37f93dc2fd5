#pragma once
#include "ops/rotate_learned.h"

namespace darope::ops {

// Shape, dtype and device of the operators' arguments; the same checks run on CPU, CUDA and Meta tensors.
void check(const Rotate&);
void check(const RotateLearned&);
// The backward operator's arguments: whoever calls it by hand gets a sentence, not a crash.
void check(const RotateLearnedBackward&);

}  // namespace darope::ops
