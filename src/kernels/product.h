#pragma once
#include <cstdint>

#include "kernels/machine.h"

// Matrix products so small that a library spends much of their time on getting ready for large ones.
namespace darope::kernels {

// c = a b: c [rows, columns] in rows, a and b as their strides say, which count elements; b has one that
// is 1.
template <class T>
struct Product {
  int64_t columns = 0, depth = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_step = 0;  // element (i, p) at a[i * a_row + p * a_step]
  const T* b = nullptr;
  int64_t b_step = 0, b_column = 0;  // element (p, j) at b[p * b_step + j * b_column]
  T* c = nullptr;
};

// Whole vectors of columns, and operands that stay in the caches.
inline bool is_small_product(int64_t rows, int64_t columns, int64_t depth) {
  return rows > 0 && columns > 0 && depth > 0 && columns % 16 == 0 &&
         rows * columns + columns * depth + rows * depth <= machine::kSmallProduct;
}

// Rows first .. last-1. T is float.
template <class T>
void multiply_cpu(const Product<T>&, int64_t first, int64_t last);

}  // namespace darope::kernels
