#pragma once
#include "model/feed_forward.h"

namespace darope {
template <class F>
FeedForward feed_forward_of() {
  return {F::name, F::activation, F::hidden, F::matrices, F::run};
}
}  // namespace darope
