#pragma once
#include <ATen/core/Tensor.h>

#include <array>

namespace darope {
using at::Tensor;

// What a model reads and what it should say. Only the rows that count are scored: a head over a large vocabulary costs more
// than the model before it. All batches of one stream have the same shapes, so that they fit one set of buffers.
struct Batch {
  Tensor tokens;      // [B, T] int64
  Tensor rows;        // [N] int64: scored places of the flattened [B * T]; the same number for each example, padded with weight 0
  Tensor targets;     // [N] int64: the token that follows
  Tensor weight;      // [N] float32; 0: not scored

  Batch to(at::Device device) const { return {tokens.to(device), rows.to(device), targets.to(device), weight.to(device)}; }
  std::array<const Tensor*, 4> all() const { return {&tokens, &rows, &targets, &weight}; }
};

}  // namespace darope
