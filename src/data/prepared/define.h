#pragma once
#include "data/prepared/kind.h"

namespace darope {

// The file of a kind ends in a class with a constant `kind`, and in `template Kind kind_of<ThatClass>();`.
template <class Definition>
Kind kind_of() {
  return Definition::kind;
}

}  // namespace darope
