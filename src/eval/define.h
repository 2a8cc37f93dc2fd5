#pragma once
#include "eval/evaluation.h"

namespace darope {
template <class E>
Evaluation evaluation_of() {
  static_assert(!(E::traits.ends_a_run && E::traits.of_its_own),
                "what a training ends with is a test of its own data, and what stands apart is none");
  return {E::traits, E::metrics, E::score};
}
}  // namespace darope
