#pragma once
#include "ops/rotate_learned.h"

// The plain versions: composed tensor operations for any device and floating dtype, in the order of the
// paper's equations. They are the oracle of the fused kernels and the fallback where there is none. Angles
// are never formed below float.
namespace darope::ops::plain {

Rotate::Result rotate(const Rotate&);
RotateLearned::Result rotate_learned(const RotateLearned&);

// Gradients of q, k and the logit (shaped like share).
std::tuple<Tensor, Tensor, Tensor> rotate_learned_backward(const RotateLearnedBackward&);

}  // namespace darope::ops::plain
