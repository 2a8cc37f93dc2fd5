#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/log2.h>
#include <ATen/ops/where.h>

#include <cmath>

#include "encodings/spec.h"

namespace darope {

// A learned number for each head and bucket of distances, which widen with the distance's logarithm (Raffel
// et al. 2020). T5 has one table for all layers; here, as all encodings, each layer has its own.
class T5 final : public Encoding {
 public:
  static constexpr Traits traits{.name = "t5",
                                 .summary = "a learned bias for each head and bucket of distances",
                                 .slow_bands = "none: a bias by bucket",
                                 .data_aware = "no",
                                 .learns = "table [32, heads]",
                                 .flash_attention = "with a bias",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .linear = false};
  T5(const LayerShape& shape, Options&) : Encoding(shape) {}

  std::vector<Parameter> parameters() const override {
    return {{.name = "table",
             .shape = {kBuckets, shape_.heads},
             .init = Parameter::Init::normal,
             .b = 1 / std::sqrt(double(shape_.d_model))}};
  }

  ScoreRule rule(TensorList parameters, bool causal) const override {
    return {.bias = [table = parameters[0], causal](const Tensor& distance, const Tensor&) {
      const Tensor places = causal ? buckets(distance.clamp_min(0), kBuckets)  // half of them for each side
                                   : buckets(distance.abs(), kBuckets / 2) + (distance < 0) * (kBuckets / 2);
      return at::embedding(table, places.squeeze(-3)).movedim(-1, -3);
    }};
  }

 private:
  static constexpr int64_t kBuckets = 32;
  static constexpr double kFar = 128;  // from here on there is one bucket

  // The first half hold a distance each, the others grow with its logarithm; to base 2, which meets the edges
  // between buckets exactly.
  static Tensor buckets(const Tensor& distance, int64_t count) {
    const int64_t near = count / 2;
    const Tensor above = at::log2(distance.clamp_min(double(near)) / double(near)) *
                         (double(count - near) / std::log2(kFar / double(near)));
    return at::where(distance < near, distance, (above.floor() + near).clamp_max(count - 1)).to(at::kLong);
  }
};

template Spec spec_of<T5>();
}  // namespace darope
