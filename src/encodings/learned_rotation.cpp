#include "encodings/learned_rotation.h"

#include <ATen/TensorOperators.h>

#include "ops/rotate.h"

namespace darope {

std::tuple<Tensor, Tensor> LearnedRotation::encode(TensorList parameters, const Tensor& q, const Tensor& k,
                                                   const Tensor& x, const Tensor& positions) const {
  const Logit l = logit(parameters, x, positions);
  const auto [q_out, k_out, share, prior] = ops::rotate_learned(
      {q, k, x, l.w, l.alpha, l.shift, positions, theta_, fast_, double(shape_.train_length), shape_.half()});
  return {q_out, k_out};
}

Tensor LearnedRotation::coordinate(TensorList parameters, const Tensor& x, const Tensor& positions) const {
  const Logit l = logit(parameters, x, positions);
  const double length = double(shape_.train_length);
  Tensor total = ops::project(x, l.w);
  const Tensor prior = ops::positional_prior(positions, length).to(total.scalar_type()).unsqueeze(-1);
  if (l.shift) total = total + *l.shift;
  if (l.alpha && l.alpha->dim() == 2)
    total = total.unsqueeze(-1) + prior.unsqueeze(-1) * l.alpha->to(total.scalar_type());
  else if (l.alpha)
    total = total + prior * l.alpha->to(total.scalar_type());
  return total.sigmoid() * length;
}

}  // namespace darope
