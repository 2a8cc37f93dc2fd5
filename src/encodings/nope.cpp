#include "encodings/spec.h"

namespace darope {

// No position at all: order is visible only through the causal mask.
class NoPE final : public Encoding {
 public:
  static constexpr Traits traits{.name = "nope",
                                 .summary = "no positional operation; the causal mask alone shows order",
                                 .slow_bands = "none",
                                 .data_aware = "no",
                                 .ktokens_per_second = 62.4,
                                 .learns = "nothing",
                                 .flash_attention = "yes",
                                 .cache = "k, v"};
  NoPE(const LayerShape& shape, Options&) : Encoding(shape) {}
};

template Spec spec_of<NoPE>();
}  // namespace darope
