#pragma once
#include <ATen/core/Tensor.h>

namespace darope {
using at::Tensor;

// What a model reads and what it should say. Only the rows that count are scored: a head over a large
// vocabulary costs more than the model before it. Batches of one stream that have equally many tokens have
// the same shapes, and so fit one set of buffers.
struct Batch {
  Tensor tokens;  // [B, T] int64
  Tensor rows;  // [N] int64: scored places of the flattened [B * T]; the same number for each example, padded
                // with weight 0. Undefined: all places, in order
  Tensor targets;         // [N] int64: the token that follows
  Tensor weight;          // [N] float32; 0: not scored
  Tensor documents = {};  // [B, T] int64: neighbours with one number are a document, see no other,
                          // and count their positions from its first on; undefined: a row is one document

  template <class F>
  Batch map(F&& f) const {
    return {f(tokens), rows.defined() ? f(rows) : rows, f(targets), f(weight),
            documents.defined() ? f(documents) : documents};
  }
  Batch to(at::Device device) const {
    return map([&](const Tensor& x) { return x.to(device); });
  }
  void copy_from(const Batch& other, bool non_blocking = false) {
    tokens.copy_(other.tokens, non_blocking);
    if (rows.defined()) rows.copy_(other.rows, non_blocking);
    targets.copy_(other.targets, non_blocking);
    weight.copy_(other.weight, non_blocking);
    if (documents.defined()) documents.copy_(other.documents, non_blocking);
  }
};

}  // namespace darope
