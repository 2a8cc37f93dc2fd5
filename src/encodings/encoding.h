#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "encodings/attention.h"
#include "encodings/options.h"
#include "kernels/rotate.h"

namespace darope {
using at::Tensor;
using at::TensorList;
using kernels::Layout;

// Everything about an attention layer that an encoding may depend on. train_length is L of the paper: a
// constant of the model, never the current length.
struct LayerShape {
  int64_t d_model = 0, heads = 0, kv_heads = 0, head_dim = 0, train_length = 0;
  Layout layout = Layout::interleaved;
  bool half() const { return layout == Layout::half; }
  int64_t bands() const { return head_dim / 2; }
};

// A learned tensor of one layer, or of the model where an encoding embeds, and how it starts.
struct Parameter {
  enum class Init { constant, normal, uniform };
  std::string name;  // the paper's letter
  std::vector<int64_t> shape;
  Init init = Init::constant;
  double a = 0, b = 0;                        // the constant a; mean a and deviation b; or the range a .. b
  std::optional<double> low = {}, high = {};  // projected into these bounds, after each optimizer step too
};

// One row of `darope encodings`, of darope.encodings() and of `darope encodings --json`.
struct Traits {
  std::string_view name, summary;
  std::string_view slow_bands;                    // how the paper's first table words it
  std::string_view data_aware;                    // yes, no or partly
  std::optional<double> ktokens_per_second = {};  // the paper's prefill throughput, 1B model on an A100
  std::string_view learns, flash_attention, cache;
  bool rotary = true;   // q and k can go to anyone's attention
  bool grouped = true;  // fewer key than query heads are allowed
  bool trains = true;   // false: a change at evaluation only
  bool linear = true;   // false: attention keeps a score for every pair of tokens
  bool embeds = false;  // acts on token embeddings, before the first layer; a model has what it learns once
};

// The columns by their names, for whoever shows or hands on the table.
void visit_columns(const Traits& t, auto&& visit) {
  visit("name", t.name);
  visit("summary", t.summary);
  visit("slow_bands", t.slow_bands);
  visit("data_aware", t.data_aware);
  visit("ktokens_per_second", t.ktokens_per_second);
  visit("learns", t.learns);
  visit("flash_attention", t.flash_attention);
  visit("cache", t.cache);
  visit("rotary", t.rotary);
  visit("grouped_heads", t.grouped);
  visit("trained", t.trains);
  visit("linear_memory", t.linear);
  visit("embeds", t.embeds);
}

// A positional encoding for one attention layer: an immutable object that maps tensors to tensors. The
// learned tensors are handed in, in the order of parameters(), so that the trainer, Python and a checkpoint
// own them as they like.
class Encoding {
 public:
  explicit Encoding(const LayerShape& shape) : shape_(shape) {}
  virtual ~Encoding() = default;

  virtual std::vector<Parameter> parameters() const { return {}; }

  // Token embeddings x [B, T, D] at positions [T] or [B, T] (float64) as the first layer reads them. Whoever
  // has one says so in its traits, and leaves q, k and scores as they are.
  virtual Tensor embed(TensorList /*parameters*/, const Tensor& x, const Tensor& /*positions*/) const {
    return x;
  }

  // q [B, T, H, d], k [B, T, Hk, d] and the layer's normed input x [B, T, D], at positions [T] or [B, T]
  // (float64), to the q and k that attention compares. What happens to a key depends on its own token alone,
  // so a cached key never changes.
  virtual std::tuple<Tensor, Tensor> encode(TensorList /*parameters*/, const Tensor& q, const Tensor& k,
                                            const Tensor& /*x*/, const Tensor& /*positions*/) const {
    return {q, k};
  }

  // How scores are made, beside the scaled products of q and k.
  virtual ScoreRule rule(TensorList /*parameters*/, bool /*causal*/) const { return {}; }

  // Attention over encoded q and k: [B, Tq, H, d]. The queries are the last Tq of the keys' tokens; `dropout`
  // of the probabilities are dropped. A scheme whose scores are no such products has its own.
  virtual Tensor attend(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Context& context, double dropout = 0) const;

  virtual bool has_coordinate() const { return false; }
  // DaRoPE's coordinate in [0, L], [B, T, Hk] or [B, T, Hk, slow]; an undefined tensor for schemes without
  // one.
  virtual Tensor coordinate(TensorList, const Tensor& /*x*/, const Tensor& /*positions*/) const { return {}; }

  // K of Eq. 2: bands that complete a turn in the training context; none where a scheme has no bands.
  virtual std::optional<int64_t> fast_bands() const { return std::nullopt; }
  virtual std::optional<double> base() const { return std::nullopt; }  // of its frequencies
  virtual int64_t encoded_width() const { return shape_.head_dim; }    // of a head's q and k

  const LayerShape& shape() const { return shape_; }

 protected:
  LayerShape shape_;
};

struct Spec {
  Traits traits;
  std::unique_ptr<Encoding> (*make)(const LayerShape&, Options&);
};
template <class E>
Spec spec_of();                        // body in spec.h, instantiated in E's own file
const std::vector<Spec>& encodings();  // registry.cpp, in the order reports list them

// "hope", "rope-10k", "yarn:factor=4,ramp=paper": checked, and the same object for the same words.
std::shared_ptr<const Encoding> create_encoding(const std::string& name, const LayerShape& shape);
const Spec& find_encoding(const std::string& name);  // aliases and options are allowed

// The table, and the parameters of an encoding, as JSON: what Python and `darope encodings --json` read.
std::string encodings_json();
std::string parameters_json(const Encoding& encoding);

// Where a name has options or an alias, the plain name: "rope-10k" and "rope:base=10000" are "rope".
std::string base_name(const std::string& name);

}  // namespace darope
