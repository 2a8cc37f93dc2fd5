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

  // How tokens are read. Layer by layer, `watch` sees the normed input of attention.
  using Watch = std::function<void(const Plan::Layer&, const Tensor& x, const Tensor& positions)>;
  struct Reading {
    Tensor documents = {};   // [B, T]: as Batch has them
    bool training = false;   // with dropout
    Cache* cache = nullptr;  // the tokens follow those in it, and go into it
    Watch watch = {};
    Tensor* loss =
        nullptr;  // where layers' own terms of the loss are added up; left alone where none has any
  };
  // [N, D], normed, of the given rows; undefined: all.
  Tensor hidden(const Tensor& tokens, const Tensor& rows, const Reading& reading) const;
  Tensor hidden(const Tensor& tokens, const Tensor& rows) const { return hidden(tokens, rows, {}); }
  Tensor logits(const Tensor& hidden) const;  // [N, V], float32 or float64
  Tensor nll(const Batch& batch) const;       // [N]
  // With dropout, and with the layers' own terms: the mean of nll by the batch's weight, or its sum by share,
  // which counts those terms by the sum of shares.
  Tensor loss(const Batch& batch) const;
  Tensor loss(const Batch& batch, const Tensor& share) const;
  Tensor next(const Tensor& tokens, Cache& cache) const;  // [B, V]: what may follow [B, T] more tokens

  std::vector<Tensor> coordinates(const Tensor& tokens) const;  // of each layer, as Encoding has them

  const DecoderConfig& config() const { return config_; }
  const Plan& plan() const { return plan_; }
  Weights& weights() { return weights_; }
  at::Device device() const { return weights_.flat().device(); }

 private:
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
