#pragma once
#include "ops/rotate.h"

namespace darope::ops {

// PoPE's coordinates (kernels/polar.h has the equation): x [B, T, H, d], positions [T] or [B, T] in float64,
// delta [H, d] or none,
// -> [B, T, H, 2d] in x's dtype. One launch on CUDA; elsewhere, in float64 and where d is no multiple of 8 or
// H d exceeds 4096, composed of tensor operations.
struct Polar {
  static constexpr auto name = "darope::polar";
  using Result = Tensor;
  using All = std::tuple<const Tensor&, const Tensor&, double, const Maybe&>;

  const Tensor &x, &positions;
  double base = 0;
  const Maybe& delta;
  All all() const { return {x, positions, base, delta}; }
};
Tensor polar(const Polar&);

// Its gradient: of x and delta.
struct PolarBackward {
  static constexpr auto name = "darope::polar_backward";
  using Result = std::tuple<Tensor, Tensor>;
  using All = std::tuple<const Tensor&, const Tensor&, const Tensor&, double, const Maybe&>;

  const Tensor &grad, &x, &positions;
  double base = 0;
  const Maybe& delta;
  All all() const { return {grad, x, positions, base, delta}; }
  Polar forward() const { return {x, positions, base, delta}; }
};

Tensor polar_plain(const Polar&);
PolarBackward::Result polar_backward_plain(const PolarBackward&);

// A sentence, not a crash, for who calls the operators by hand.
void check(const Polar&);
void check(const PolarBackward&);

}  // namespace darope::ops
