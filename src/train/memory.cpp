#include "train/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/attention.h"
#include "ops/head.h"

namespace darope {
namespace {

// Numbers that a layer keeps for the backward pass, a token.
struct Kept {
  double boundary = 0;  // what a layer begins with, and all that is kept if it is computed again
  double inside = 0;
};

// How many times attention keeps something for each pair of tokens.
double kept_of_scores(const DecoderConfig& c, const Traits& traits, bool learns, int64_t length,
                      bool on_cpu) {
  if (traits.flash_attention == "no") return 3;  // it makes its own scores
  if (!on_cpu) return 0;
  if (!traits.linear && learns) return 3;  // a bias with a gradient has no fast way; without, it serves all
  if (c.dropout > 0) return 3;  // shares, those that are left and which they are: there is no fast way
  return traits.linear && length <= longest_short() ? 1 : 0;
}

Kept kept_by(const DecoderConfig& c, const Plan::Layer& layer) {
  const double width = double(c.dim), kv = double(c.kv_heads() * c.head_dim());
  Kept out{.boundary = 2 * width};            // the residual stream and its norm
  out.inside = 2 * width + (width + 2 * kv);  // the same before the feed-forward part; q, k and v
  if (layer.encoding->fast_bands()) out.inside += width + kv;  // turned
  if (const double wide = double(layer.encoding->encoded_width()) / double(c.head_dim()); wide > 1)
    out.inside += wide * (width + kv) + width;  // q and k anew, and v with zeros
  out.inside += width;                          // what attention mixed
  for (const Matrix& matrix : layer.feed_forward->matrices(c)) {
    for (const auto& [part, rows] : matrix.names_and_rows) out.inside += matrix.residual ? 0 : double(rows);
    out.inside += matrix.residual ? double(matrix.inputs) : 0;
  }
  if (c.dropout > 0) out.inside += 3 * width;  // what is dropped, and masks
  return out;
}

}  // namespace

TrainingMemory training_memory(const DecoderConfig& model, const Plan& plan, const TrainConfig& config,
                               int64_t batch, int64_t length, at::ScalarType compute, bool on_cpu) {
  const double size = double(c10::elementSize(compute)), full = std::max(size, 4.0),
               tokens = double(batch) * double(length), width = double(model.dim),
               pairs = tokens * double(length) * double(model.n_heads);
  TrainingMemory out;
  out.state = double(plan.parameters()) * (4 * full + (size < full ? 2 * size : 0));
  const std::vector<std::string> names = model.layer_encodings();
  double largest = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Traits& traits = find_encoding(names[i]).traits;
    const Kept kept = kept_by(model, plan.layers[i]);
    const bool learns = !plan.layers[i].encoding->parameters().empty();
    const double scores = pairs * kept_of_scores(model, traits, learns, length, on_cpu);
    const double inside = size * (tokens * kept.inside + scores);
    largest = std::max(largest, inside);
    out.activations += size * tokens * kept.boundary + (config.recompute == "full" ? 0 : inside);
  }
  const double logits = tokens * double(model.vocab_size),
               head = double(model.vocab_size) * width * (full + size);
  const double of_loss =
      logits * size <= double(kLogitsAtOnce) ? 3 * logits * full : double(kLogitsAtOnce) + head;
  // On the way back a layer's gradients are there beside what they are made of, and, where it is computed
  // again, all of it.
  out.passing = std::max(of_loss, largest / 2 + (config.recompute == "full" ? largest : 0));
  return out;
}

std::string memory_text(double bytes) {
  return bytes < 0x1p30 ? fmt::format("{:.0f} MiB", bytes / 0x1p20)
                        : fmt::format("{:.2f} GiB", bytes / 0x1p30);
}

}  // namespace darope
