#include "model/feed_forward_of.h"
#include "ops/products.h"

namespace darope {

// Two thirds of 4 dim, rounded up, so that its three matrices weigh as much as GELU's two.
class SwiGLU {
 public:
  static constexpr std::string_view name = "swiglu", activation = "silu";

  static int64_t hidden(const DecoderConfig& c) {
    return c.hidden_multiple * ((8 * c.dim / 3 + c.hidden_multiple - 1) / c.hidden_multiple);
  }
  static std::vector<Matrix> matrices(const DecoderConfig& c) {
    return {{{{"gate_proj.weight", hidden(c)}, {"up_proj.weight", hidden(c)}}, c.dim},
            {{{"down_proj.weight", c.dim}}, hidden(c), true}};
  }
  static FeedForward::Output run(const Tensor& x, const std::vector<Tensor>& w) {
    return {swiglu_mlp(x, w[0], w[1])};
  }
};

template FeedForward feed_forward_of<SwiGLU>();
}  // namespace darope
