#pragma once
#include "model/decoder.h"

namespace darope {

// What a model does with the tokens of one text, layer by layer and head by head.
struct Seen {
  Tensor coordinates;       // [layers, Hk, T], mean over bands; undefined where no layer learns one
  Tensor alpha;             // [layers, Hk]; undefined where no layer has one for each head
  Tensor attended, shares;  // [layers, H, T, k]: the keys that each token attends to most, and how much
};
Seen look_through(const Decoder& model, const std::vector<int64_t>& tokens, int64_t most_attended = 8);

}  // namespace darope
