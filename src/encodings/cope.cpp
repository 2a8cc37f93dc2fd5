#include "ops/cope.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/matmul.h>

#include <cmath>
#include <string>

#include "base/error.h"
#include "encodings/spec.h"

namespace darope {

// A query decides, key by key, how much each key counts; the distance to a key is what was counted from it to
// the query (Golovneva et al. 2024). A fractional distance interpolates between learned vectors e[p], which
// add to the logit.
class CoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "cope",
                                 .summary = "distance is counted by content gates, pair by pair",
                                 .slow_bands = "pairwise data-aware coordinate",
                                 .data_aware = "yes",
                                 .ktokens_per_second = 4.3,
                                 .learns = "embedding [npos_max, d]",
                                 .flash_attention = "no",
                                 .cache = "k, v",
                                 .rotary = false,
                                 .grouped = false,
                                 .linear = false};
  CoPE(const LayerShape& shape, Options& options)
      : Encoding(shape),
        npos_max_(options.integer("npos_max").value_or(64)),
        scaled_(options.choice("scaling", {"listing", "scaled"}) == "scaled") {
    if (npos_max_ < 1 || npos_max_ > 65536)
      throw Error("option 'npos_max' must lie between 1 and 65536; got " + std::to_string(npos_max_));
  }

  std::vector<Parameter> parameters() const override {
    return {{.name = "embedding", .shape = {npos_max_, shape_.head_dim}}};
  }

  Tensor attend(TensorList parameters, const Tensor& q, const Tensor& k, const Tensor& v,
                const Context& context, double dropout) const override {
    if (!context.causal)
      throw Error("cope counts keys from each one up to the query, so it needs causal=True");
    const double scale = 1 / std::sqrt(double(shape_.head_dim));
    std::optional<Tensor> first;
    if (context.starts.defined())
      first = context.starts.narrow_symint(1, k.sym_size(1) - q.sym_size(1), q.sym_size(1));
    const Tensor weights = ops::cope_weights({q, k, parameters[0], scale, scaled_ ? scale : 1, first});
    return at::matmul(at::dropout(weights, dropout, dropout > 0), v.transpose(1, 2)).transpose(1, 2);
  }

 private:
  int64_t npos_max_;
  bool scaled_;  // divide the position term by sqrt d too, as the released training code does
};

template Spec spec_of<CoPE>();
}  // namespace darope
