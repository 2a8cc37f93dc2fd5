#include <ATen/TensorOperators.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/relu.h>

#include <cmath>

#include "base/error.h"
#include "encodings/spec.h"

namespace darope {

// A small network over a distance that is compressed by a learned logarithm and divided by the query's own,
// so that what it reads lies between 0 and 1 at any length (Li et al. 2024).
class FIRE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "fire",
                                 .summary = "a network over the distance, as a share of the query's position",
                                 .slow_bands = "none: a learned bias",
                                 .data_aware = "no",
                                 .learns = "c, threshold, 1-32-heads net",
                                 .flash_attention = "with a bias",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .linear = false};
  FIRE(const LayerShape& shape, Options&) : Encoding(shape) {}

  std::vector<Parameter> parameters() const override {
    const auto drawn = [](const char* name, std::vector<int64_t> shape, int64_t inputs) {
      const double most = 1 / std::sqrt(double(inputs));
      return Parameter{.name = name, .shape = shape, .init = Parameter::Init::uniform, .a = -most, .b = most};
    };
    return {{.name = "c", .shape = {1}, .a = 0.1},
            {.name = "threshold", .shape = {1}, .a = 1},  // in units of kLength
            drawn("w1", {kHidden, 1}, 1),
            drawn("b1", {kHidden}, 1),
            drawn("w2", {shape_.heads, kHidden}, kHidden),
            drawn("b2", {shape_.heads}, kHidden)};
  }

  ScoreRule rule(TensorList parameters, bool causal) const override {
    if (!causal)
      throw Error("fire measures distances by what lies before the query, so it needs causal=True");
    return {.bias =
                [p = parameters.vec()](const Tensor& distance, const Tensor& query) {
                  const auto learned = [&](size_t i) { return p[i].to(distance.scalar_type()); };
                  const auto compressed = [c = learned(0)](const Tensor& x) { return (c * x).abs().log1p(); };
                  const Tensor reach = at::maximum(query, (learned(1) * kLength).abs());
                  const Tensor share = compressed(distance) / (compressed(reach) + 1e-6);
                  const Tensor inner = at::relu(at::linear(share.movedim(-3, -1), learned(2), learned(3)));
                  return at::linear(inner, learned(4), learned(5)).movedim(-1, -3);
                },
            .reads_query = true};
  }

 private:
  static constexpr int64_t kHidden = 32;
  static constexpr double kLength = 512;
};

template Spec spec_of<FIRE>();
}  // namespace darope
