#include "model/decoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/recompute.h"
#include "ops/embedding.h"
#include "ops/head.h"
#include "ops/norm.h"
#include "ops/products.h"

namespace darope {
namespace {

// The keys or values of all tokens so far: `more` goes in behind those the cache has.
Tensor append(std::vector<Tensor>& kept, size_t layer, const Tensor& more, const Cache& cache) {
  if (kept.size() <= layer)
    kept.push_back(at::empty({more.size(0), cache.capacity, more.size(2), more.size(3)}, more.options()));
  kept[layer].narrow(1, cache.length, more.size(1)).copy_(more);
  return kept[layer].narrow(1, 0, cache.length + more.size(1));
}

}  // namespace

const Decoder::Look Decoder::kNoLook{};

Decoder::Decoder(const DecoderConfig& config, at::Device device, at::ScalarType compute)
    : Decoder(config, Plan(config), device, compute) {}

Decoder::Decoder(const DecoderConfig& config, Plan plan, at::Device device, at::ScalarType compute)
    : config_(config),
      plan_(std::move(plan)),
      weights_(plan_, at::TensorOptions().device(device).dtype(compute), config.seed) {}

Tensor Decoder::dropped(const Tensor& x, bool training) const {
  return training && config_.dropout > 0 ? at::dropout(x, config_.dropout, true) : x;
}

std::vector<Tensor> Decoder::those(const std::vector<size_t>& indices) const {
  std::vector<Tensor> out;
  for (const size_t i : indices) out.push_back(w(i));
  return out;
}

Tensor Decoder::attention(const Plan::Layer& layer, const Tensor& x, const Tensor& positions,
                          const Context& context, const Reading& reading) const {
  const int64_t heads = config_.n_heads, kv = config_.kv_heads();
  const Tensor qkv = product(x, w(layer.qkv)).unflatten(-1, {heads + 2 * kv, config_.head_dim()});
  const std::vector<Tensor> parts = qkv.split_with_sizes({heads, kv, kv}, 2);
  const std::vector<Tensor> own = those(layer.encoding_weights);
  const Look& look = reading.look;
  auto [q, k] = look.encode ? look.encode(*layer.encoding, own, parts[0], parts[1], x, positions)
                            : layer.encoding->encode(own, parts[0], parts[1], x, positions);
  Tensor v = parts[2];
  if (Cache* const cache = reading.cache) {
    const size_t index = size_t(&layer - plan_.layers.data());
    k = append(cache->keys, index, k, *cache);
    v = append(cache->values, index, v, *cache);
  }
  if (look.compared) look.compared({*layer.encoding, own, q, k, context});
  return layer.encoding->attend(own, q, k, v, context, reading.training ? config_.dropout : 0).flatten(2);
}

Tensor Decoder::feed_forward(const Plan::Layer& layer, const Tensor& x, const Reading& reading) const {
  const FeedForward::Output out = layer.feed_forward->run(x, those(layer.feed_forward_weights));
  if (reading.loss) *reading.loss = out.loss;
  return out.x;
}

std::vector<Tensor> Decoder::block(size_t index, Tensor x, Tensor normed, const Passage& passage) const {
  const Plan::Layer& layer = plan_.layers[index];
  const bool last = index + 1 == plan_.layers.size();
  const Tensor& rows = passage.rows;
  Tensor loss;
  Reading reading = passage.reading;
  reading.loss = &loss;
  const auto add = [&](const Tensor& more, size_t next_norm) {
    const Added added = add_rms_norm(x, dropped(more, reading.training), w(next_norm), config_.norm_eps);
    x = added.sum, normed = added.norm;
  };
  Tensor mixed = attention(layer, normed, passage.positions, passage.context, reading);
  if (last) {  // from here on every row goes its own way, and only some are asked for
    mixed = mixed.flatten(0, 1), x = x.flatten(0, 1);
    if (rows.defined()) mixed = mixed.index_select(0, rows), x = x.index_select(0, rows);
  }
  add(product(mixed, w(layer.out)), layer.mlp_norm);
  add(feed_forward(layer, normed, reading), last ? plan_.norm : plan_.layers[index + 1].attention_norm);
  std::vector<Tensor> out{x, normed};
  if (loss.defined()) out.push_back(loss);
  return out;
}

Tensor Decoder::hidden(const Tensor& tokens, const Tensor& rows, const Reading& reading) const {
  Cache* const cache = reading.cache;
  const bool training = reading.training;
  const int64_t first = cache ? cache->length : 0;
  Context context;
  Tensor positions = at::arange(first, first + tokens.size(1), tokens.options().dtype(at::kDouble));
  if (reading.documents.defined()) {  // each is read as if it were alone
    context.starts = document_starts(reading.documents);
    context.positions = positions = positions - context.starts;
  }
  Tensor x = dropped(plan_.layers.front().encoding->embed(those(plan_.position_weights),
                                                          embed(w(plan_.embedding), tokens), positions),
                     training);
  Tensor normed = rms_norm(x, w(plan_.layers.front().attention_norm), config_.norm_eps);
  const Passage passage{positions, rows, context, reading};
  for (size_t i = 0; i < plan_.layers.size(); ++i) {
    if (reading.look.input) reading.look.input(plan_.layers[i], normed, positions);
    const auto part = [this, i, passage](Tensor from, Tensor from_normed) {
      return block(i, std::move(from), std::move(from_normed), passage);
    };
    const std::vector<Tensor> out =
        reading.recompute ? recomputed(part, x, normed, training && config_.dropout > 0)
                          : part(std::move(x), std::move(normed));  // gone once the block needs them no more
    x = out[0], normed = out[1];
    if (reading.loss && out.size() > 2)
      *reading.loss = reading.loss->defined() ? *reading.loss + out[2] : out[2];
    if (reading.look.block) reading.look.block(x);
  }
  if (cache) cache->length += tokens.size(1);
  return normed;
}

Tensor Decoder::logits(const Tensor& hidden) const {
  return product(hidden, w(plan_.head)).to(weights_.flat().scalar_type());
}

Tensor Decoder::logits_of(const Tensor& hidden, const Tensor& ids) const {
  const at::ScalarType type = weights_.flat().scalar_type();
  const Tensor head = w(plan_.head).index_select(0, ids.flatten()).view({ids.size(0), ids.size(1), -1});
  return at::bmm(head.to(type), hidden.to(type).unsqueeze(-1)).squeeze(-1);
}

Tensor Decoder::final_norm(const Tensor& x) const { return rms_norm(x, w(plan_.norm), config_.norm_eps); }

Tensor Decoder::nll(const Batch& batch) const {
  const Tensor x = hidden(batch.tokens, batch.rows, {.documents = batch.documents});
  return head_nll(x, w(plan_.head), batch.targets);
}

Tensor Decoder::next(const Tensor& tokens, Cache& cache) const {
  if (cache.length + tokens.size(1) > cache.capacity)
    throw Error(fmt::format("the cache holds {} tokens; {} were to follow {}", cache.capacity, tokens.size(1),
                            cache.length));
  const Tensor last = at::arange(1, tokens.size(0) + 1, tokens.options()) * tokens.size(1) - 1;
  return logits(hidden(tokens, last, {.cache = &cache}));
}

std::vector<Tensor> Decoder::coordinates(const Tensor& tokens) const {
  std::vector<Tensor> out;
  const Look look{.input = [&](const Plan::Layer& layer, const Tensor& x, const Tensor& positions) {
    out.push_back(layer.encoding->coordinate(those(layer.encoding_weights), x, positions));
  }};
  hidden(tokens, {}, {.look = look});
  return out;
}

Tensor Decoder::loss(const Batch& batch, bool recompute) const {
  const Tensor weight = batch.weight.to(weights_.flat().scalar_type());
  return loss(batch, weight / weight.sum(), recompute);
}

Tensor Decoder::loss(const Batch& batch, const Tensor& share, bool recompute) const {
  Tensor more;
  const Tensor x =
      hidden(batch.tokens, batch.rows,
             {.documents = batch.documents, .training = true, .recompute = recompute, .loss = &more});
  const Tensor loss = head_loss(x, w(plan_.head), batch.targets, share);
  return more.defined() ? loss + more * share.sum() : loss;
}

}  // namespace darope
