#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/norm.h"

namespace darope {
namespace {

// The keys or values of all tokens so far: `more` goes in behind those the cache has.
Tensor append(std::vector<Tensor>& kept, size_t layer, const Tensor& more, const Cache& cache) {
  if (kept.size() <= layer) kept.push_back(at::empty({more.size(0), cache.capacity, more.size(2), more.size(3)}, more.options()));
  kept[layer].narrow(1, cache.length, more.size(1)).copy_(more);
  return kept[layer].narrow(1, 0, cache.length + more.size(1));
}

}  // namespace

Decoder::Decoder(const DecoderConfig& config, at::Device device, at::ScalarType compute)
    : config_(config),
      plan_(config),
      weights_(plan_, at::TensorOptions().device(device).dtype(compute == at::kDouble ? at::kDouble : at::kFloat), config.seed),
      compute_(compute) {
  refresh();
}

void Decoder::refresh() {
  w_.clear();
  for (size_t i = 0; i < plan_.weights.size(); ++i)      // encodings form angles in float32 and take their weights so
    w_.push_back(plan_.weights[i].of_encoding ? weights_.leaves()[i] : weights_.leaves()[i].to(compute_));
}

Tensor Decoder::norm(const Tensor& x, size_t weight) const { return rms_norm(x, w_[weight], config_.norm_eps); }

Tensor Decoder::dropped(const Tensor& x, bool training) const {
  return training && config_.dropout > 0 ? at::dropout(x, config_.dropout, true) : x;
}

Tensor Decoder::attention(const Plan::Layer& layer, const Tensor& x, const Tensor& positions, bool training, Cache* cache) const {
  const int64_t heads = config_.n_heads, kv = config_.kv_heads();
  const Tensor qkv = at::linear(x, w_[layer.qkv]).unflatten(-1, {heads + 2 * kv, config_.head_dim()});
  const std::vector<Tensor> parts = qkv.split_with_sizes({heads, kv, kv}, 2);
  std::vector<Tensor> learned;
  for (const size_t i : layer.encoding_weights) learned.push_back(w_[i]);
  auto [q, k] = layer.encoding->encode(learned, parts[0], parts[1], x, positions);
  Tensor v = parts[2];
  if (cache) {
    const size_t index = size_t(&layer - plan_.layers.data());
    k = append(cache->keys, index, k, *cache);
    v = append(cache->values, index, v, *cache);
  }
  return layer.encoding->attend(learned, q, k, v, true, training ? config_.dropout : 0).flatten(2);
}

Tensor Decoder::mlp(const Plan::Layer& layer, const Tensor& x) const {
  const Tensor up = at::linear(x, w_[layer.up]);
  if (!config_.lingua()) return at::linear(at::gelu(up), w_[layer.down]);
  const std::vector<Tensor> gate_up = up.split(config_.hidden(), -1);
  return at::linear(at::silu(gate_up[0]) * gate_up[1], w_[layer.down]);
}

Tensor Decoder::hidden(const Tensor& tokens, const Tensor& rows, bool training, Cache* cache) const {
  const int64_t first = cache ? cache->length : 0;
  const Tensor positions = at::arange(first, first + tokens.size(1), tokens.options().dtype(at::kDouble));
  Tensor x = dropped(at::embedding(w_[plan_.embedding], tokens), training);
  for (const Plan::Layer& layer : plan_.layers) {
    Tensor mixed = attention(layer, norm(x, layer.attention_norm), positions, training, cache);
    if (&layer == &plan_.layers.back()) {                  // from here on every row goes its own way, and only some are asked for
      mixed = mixed.flatten(0, 1).index_select(0, rows);
      x = x.flatten(0, 1).index_select(0, rows);
    }
    x = x + dropped(at::linear(mixed, w_[layer.out]), training);
    x = x + dropped(mlp(layer, norm(x, layer.mlp_norm)), training);
  }
  if (cache) cache->length += tokens.size(1);
  return norm(x, plan_.norm);
}

Tensor Decoder::logits(const Tensor& hidden) const {
  return at::linear(hidden, w_[plan_.head]).to(weights_.flat().scalar_type());
}

Tensor Decoder::nll(const Batch& batch, bool training) const {
  return at::cross_entropy_loss(logits(hidden(batch.tokens, batch.rows, training)), batch.targets, {}, at::Reduction::None);
}

Tensor Decoder::next(const Tensor& tokens, Cache& cache) const {
  if (cache.length + tokens.size(1) > cache.capacity) throw Error(fmt::format("the cache holds {} tokens; {} were to follow {}", cache.capacity, tokens.size(1), cache.length));
  const Tensor last = at::arange(1, tokens.size(0) + 1, tokens.options()) * tokens.size(1) - 1;
  return logits(hidden(tokens, last, false, &cache));
}

Tensor Decoder::loss(const Batch& batch) const { return (nll(batch, true) * batch.weight).sum() / batch.weight.sum(); }

}  // namespace darope
