#include <ATen/TensorOperators.h>
#include <ATen/ops/softmax.h>

#include "model/feed_forward_of.h"
#include "ops/products.h"

namespace darope {

// Two small GELU parts, mixed for each token by a router that a term of the loss asks to use both.
class TwoExperts {
 public:
  static constexpr std::string_view name = "two-experts", activation = "gelu";

  static int64_t hidden(const DecoderConfig& c) { return 2 * c.dim; }  // of each
  static std::vector<Matrix> matrices(const DecoderConfig& c) {
    std::vector<Matrix> all{{{{"router.weight", 2}}, c.dim}};
    for (const char* expert : {"experts.0.", "experts.1."}) {
      all.push_back({{{std::string(expert) + "up_proj.weight", hidden(c)}}, c.dim});
      all.push_back({{{std::string(expert) + "down_proj.weight", c.dim}}, hidden(c), true});
    }
    return all;
  }

  static FeedForward::Output run(const Tensor& x, const std::vector<Tensor>& w) {
    const Tensor share = at::softmax(product(x, w[0]), -1);
    const Tensor mixed =
        share.narrow(-1, 0, 1) * gelu_mlp(x, w[1], w[2]) + share.narrow(-1, 1, 1) * gelu_mlp(x, w[3], w[4]);
    // The term is 1 where both are used alike, and at most 2.
    return {mixed, 2 * share.flatten(0, -2).mean(0).square().sum()};
  }
};

template FeedForward feed_forward_of<TwoExperts>();
}  // namespace darope
