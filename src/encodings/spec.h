#pragma once
#include "encodings/encoding.h"

namespace darope {
template <class E>
Spec spec_of() {
  return {E::traits, [](const LayerShape& shape, Options& options) -> std::unique_ptr<Encoding> {
            return std::make_unique<E>(shape, options);
          }};
}
}  // namespace darope
