#include <algorithm>
#include <string>

#include "base/error.h"
#include "encodings/spec.h"

namespace darope {

// No position, and a query sees only its own token and those just before it: where the window ends is all
// that shows order, beside the causal mask.
class NoPEWindow final : public Encoding {
 public:
  static constexpr Traits traits{.name = "nope-window",
                                 .summary = "no positional operation; attention sees a sliding window",
                                 .slow_bands = "none",
                                 .data_aware = "no",
                                 .learns = "nothing",
                                 .flash_attention = "with a window",
                                 .cache = "k, v",
                                 .rotary = false};
  NoPEWindow(const LayerShape& shape, Options& options)
      : Encoding(shape),
        window_(options.integer("window").value_or(std::max<int64_t>(1, shape.train_length / 2))) {
    if (window_ < 1)
      throw Error("option 'window' must be at least 1, the query's own token; got " +
                  std::to_string(window_));
  }

  ScoreRule rule(TensorList, bool) const override { return {.window = window_}; }

 private:
  int64_t window_;
};

template Spec spec_of<NoPEWindow>();
}  // namespace darope
