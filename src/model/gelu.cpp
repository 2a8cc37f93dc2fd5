#include "model/feed_forward_of.h"
#include "ops/products.h"

namespace darope {

class GELU {
 public:
  static constexpr std::string_view name = "gelu", activation = "gelu";

  static int64_t hidden(const DecoderConfig& c) { return 4 * c.dim; }
  static std::vector<Matrix> matrices(const DecoderConfig& c) {
    return {{{{"up_proj.weight", hidden(c)}}, c.dim}, {{{"down_proj.weight", c.dim}}, hidden(c), true}};
  }
  static FeedForward::Output run(const Tensor& x, const std::vector<Tensor>& w) {
    return {gelu_mlp(x, w[0], w[1])};
  }
};

template FeedForward feed_forward_of<GELU>();
}  // namespace darope
