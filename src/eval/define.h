#pragma once
#include "eval/evaluation.h"

namespace darope {
template <class E>
Evaluation evaluation_of() {
  return {E::traits, E::metrics, E::score};
}
}  // namespace darope
