#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/tensorboard.h"
#include "model/decoder.h"

namespace darope {

// What an encoding has learned about position, layer by layer: alpha over the heads (how strongly the
// coordinate follows the positional prior), and how the coordinates of these tokens [B, T] lie in [0, L]:
// `entropy` of their histogram, 1 where they are spread evenly and 0 where all are alike, and `saturated`,
// the share within 1 % of either end. Nothing for schemes without them.
Scalars position_metrics(Decoder& model, const Tensor& tokens);

}  // namespace darope
