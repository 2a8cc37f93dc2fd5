#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>

#include "encodings/spec.h"

namespace darope {

// A learned vector for each position is added to the token's (Gehring et al. 2017), as GPT-2's wpe; it starts
// as nanoGPT's.
class Learned final : public Encoding {
 public:
  static constexpr Traits traits{
      .name = "learned",
      .summary = "one vector for each position up to L, the last one beyond; added to the embeddings",
      .slow_bands = "none: added to embeddings",
      .data_aware = "no",
      .learns = "table [L, D]",
      .flash_attention = "yes",
      .cache = "k, v",
      .rotary = false,
      .embeds = true};
  Learned(const LayerShape& shape, Options&) : Encoding(shape) {}

  std::vector<Parameter> parameters() const override {
    return {{.name = "table",
             .shape = {shape_.train_length, shape_.d_model},
             .init = Parameter::Init::normal,
             .b = 0.02}};
  }

  Tensor embed(TensorList parameters, const Tensor& x, const Tensor& positions) const override {
    // Between two positions it is the row of the lower one.
    const Tensor rows = positions.clamp_max(double(shape_.train_length - 1)).to(at::kLong);
    return x + at::embedding(parameters[0], rows).to(x.scalar_type());
  }
};

template Spec spec_of<Learned>();
}  // namespace darope
