#pragma once
#include <type_traits>

#include "encodings/encoding.h"

namespace darope {
template <class E>
Spec spec_of() {
  static_assert(E::traits.embeds != std::is_same_v<decltype(&E::embed), decltype(&Encoding::embed)>,
                "an encoding has its own embed() where its traits say .embeds = true, and nowhere else");
  return {E::traits, [](const LayerShape& shape, Options& options) -> std::unique_ptr<Encoding> {
            return std::make_unique<E>(shape, options);
          }};
}
}  // namespace darope
