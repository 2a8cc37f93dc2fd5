#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/error.h"
#include "encodings/bands.h"
#include "encodings/spec.h"
#include "ops/rotate.h"

namespace darope {

// RoPE stretched by `factor` at evaluation (Peng et al. 2024): bands with many turns in training keep their
// frequency, bands with less than one are slowed by the factor, a ramp joins them; the temperature sharpens
// the softmax a little.
class YaRN final : public Encoding {
 public:
  static constexpr Traits traits{.name = "yarn",
                                 .summary = "RoPE whose slow bands are stretched at evaluation",
                                 .slow_bands = "rescaled token index",
                                 .data_aware = "no",
                                 .ktokens_per_second = 62.2,
                                 .learns = "nothing",
                                 .flash_attention = "yes",
                                 .cache = "rotated k, v",
                                 .trains = false};
  YaRN(const LayerShape& shape, Options& options) : Encoding(shape) {
    base_ = read_base(options);
    const double base = base_, factor = options.number("factor", 4);
    if (!std::isfinite(factor) || factor < 1)
      throw Error("option 'factor' must be a finite number of at least 1; got " + number_text(factor));
    theta_ = frequencies(shape.head_dim, base);
    read_fast(options, theta_, shape.train_length);
    const bool by_index = options.choice("ramp", {"code", "paper"}) == "code";
    const double length = double(shape.train_length);
    for (size_t j = 0; j < theta_.size(); ++j) {
      const double keep = by_index ? keep_by_index(double(j), double(shape.head_dim), length, base)
                                   : keep_by_turns(length * theta_[j] / (2 * std::numbers::pi));
      theta_[j] = keep * theta_[j] + (1 - keep) * theta_[j] / factor;
    }
    if (options.choice("temperature", {"on", "off"}) == "on" && factor > 1)
      scale_ = 0.1 * std::log(factor) + 1;
  }

  std::tuple<Tensor, Tensor> encode(TensorList, const Tensor& q, const Tensor& k, const Tensor&,
                                    const Tensor& positions) const override {
    return ops::rotate({q, k, positions, theta_, scale_, shape_.half()});
  }
  std::optional<double> base() const override { return base_; }

 private:
  // The released code: linear in the band index between the bands of 32 turns and of one.
  static double keep_by_index(double j, double head_dim, double length, double base) {
    const auto band_of = [&](double turns) {
      return head_dim * std::log(length / (2 * std::numbers::pi * turns)) / (2 * std::log(base));
    };
    const double low = std::max(std::floor(band_of(32)), 0.0);
    double high = std::min(std::ceil(band_of(1)), head_dim - 1);
    if (low == high) high += 0.001;
    return 1 - std::clamp((j - low) / (high - low), 0.0, 1.0);
  }
  // The paper's formula: linear in the turns a band completes in training.
  static double keep_by_turns(double turns) { return std::clamp((turns - 1) / (32 - 1), 0.0, 1.0); }

  double base_;
  std::vector<double> theta_;
  double scale_ = 1;  // on q and k alike, so logits carry its square
};

template Spec spec_of<YaRN>();
}  // namespace darope
