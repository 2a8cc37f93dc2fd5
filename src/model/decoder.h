#pragma once
#include <functional>

#include "data/batch.h"
#include "model/weights.h"

namespace darope {

// Keys and values of the tokens a model has read, one pair of [B, capacity, Hk, d] for each layer.
struct Cache {
  int64_t capacity = 0, length = 0;
  std::vector<Tensor> keys = {}, values = {};
};

// A decoder-only Transformer. Weights are kept in float32 (float64 in tests); products run in the compute
// type.
class Decoder {
 public:
  Decoder(const DecoderConfig& config, at::Device device, at::ScalarType compute = at::kFloat);
  Decoder(const DecoderConfig& config, Plan plan, at::Device device, at::ScalarType compute = at::kFloat);

  void refresh() { weights_.refresh(); }  // after every change of the weights

  // The q and k of a layer as its attention compares them, and what it compares them by.
  struct Compared {
    const Encoding& encoding;
    TensorList parameters;
    const Tensor &q, &k;
    const Context& context;
  };
  // What an evaluation that looks inside sees, layer by layer; what is empty is not asked.
  struct Look {
    // The normed input of attention.
    std::function<void(const Plan::Layer&, const Tensor& x, const Tensor& positions)> input = {};
    // In place of the encoding's own encode().
    std::function<std::tuple<Tensor, Tensor>(const Encoding&, TensorList parameters, const Tensor& q,
                                             const Tensor& k, const Tensor& x, const Tensor& positions)>
        encode = {};
    std::function<void(const Compared&)> compared = {};
    // The residual stream behind a block: [B, T, D], behind the last one [N, D] of the rows asked for.
    std::function<void(const Tensor& x)> block = {};
  };
  // How tokens are read.
  struct Reading {
    Tensor documents = {};   // [B, T]: as Batch has them
    bool training = false;   // with dropout
    bool recompute = false;  // keep for a backward pass only what blocks begin with
    Cache* cache = nullptr;  // the tokens follow those in it, and go into it
    const Look& look = kNoLook;
    Tensor* loss =
        nullptr;  // where layers' own terms of the loss are added up; left alone where none has any
  };
  // [N, D], normed, of the given rows; undefined: all.
  Tensor hidden(const Tensor& tokens, const Tensor& rows, const Reading& reading) const;
  Tensor hidden(const Tensor& tokens, const Tensor& rows) const { return hidden(tokens, rows, {}); }
  Tensor logits(const Tensor& hidden) const;  // [N, V], float32 or float64
  // Of some tokens alone, ids [N, K] for each row: [N, K], summed in float32 or float64.
  Tensor logits_of(const Tensor& hidden, const Tensor& ids) const;
  Tensor final_norm(const Tensor& x) const;  // what comes before the head
  Tensor nll(const Batch& batch) const;      // [N]
  // With dropout, and with the layers' own terms: the mean of nll by the batch's weight, or its sum by share,
  // which counts those terms by the sum of shares.
  Tensor loss(const Batch& batch, bool recompute = false) const;
  Tensor loss(const Batch& batch, const Tensor& share, bool recompute = false) const;
  Tensor next(const Tensor& tokens, Cache& cache) const;  // [B, V]: what may follow [B, T] more tokens

  std::vector<Tensor> coordinates(const Tensor& tokens) const;  // of each layer, as Encoding has them

  const DecoderConfig& config() const { return config_; }
  const Plan& plan() const { return plan_; }
  Weights& weights() { return weights_; }
  at::Device device() const { return weights_.flat().device(); }

 private:
  static const Look kNoLook;
  // How all layers read the tokens.
  struct Passage {
    Tensor positions, rows;
    Context context;
    Reading reading;
  };
  // The residual stream and its norm behind a layer, and the layer's own term of the loss where it has one.
  std::vector<Tensor> block(size_t index, Tensor x, Tensor normed, const Passage& passage) const;
  Tensor attention(const Plan::Layer& layer, const Tensor& x, const Tensor& positions, const Context& context,
                   const Reading& reading) const;
  Tensor feed_forward(const Plan::Layer& layer, const Tensor& x, const Reading& reading) const;
  std::vector<Tensor> those(const std::vector<size_t>& indices) const;  // of the weights
  const Tensor& w(size_t index) const { return weights_.leaves()[index]; }
  Tensor dropped(const Tensor& x, bool training) const;

  DecoderConfig config_;
  Plan plan_;
  Weights weights_;
};

}  // namespace darope
