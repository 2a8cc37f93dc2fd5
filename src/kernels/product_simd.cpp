#include "kernels/product.h"
#include "kernels/tile.h"

// Compiled once per instruction set, each into a namespace of its own (DAROPE_ISA); cpu.cpp picks at run
// time.
namespace darope::kernels {
namespace {

constexpr int64_t kStrip = 64, kDepth = 128;  // of b, copied together: near, and read in order

template <class T>
void by_strips(const Product<T>& p, int64_t first, int64_t last) {
  alignas(64) T packed[kDepth * kStrip];
  for (int64_t step = 0; step < p.depth; step += kDepth)
    for (int64_t column = 0; column < p.columns; column += kStrip) {
      const int64_t depth = std::min(kDepth, p.depth - step), width = std::min(kStrip, p.columns - column);
      const T* const b = p.b + step * p.b_step + column * p.b_column;
      if (p.b_column == 1)
        for (int64_t i = 0; i < depth; ++i)
          std::memcpy(packed + i * kStrip, b + i * p.b_step, size_t(width) * sizeof(T));
      else
        transpose<T>({b, p.b_column}, width, depth, {packed, kStrip});
      const Left<T> a{p.a, p.a_row, p.a_step};
      const Rows<T> c{p.c, p.columns};
      multiply<T>(a.from(first, step), {packed, kStrip}, last - first, width, depth, c.from(first, column),
                  step > 0);
    }
}

}  // namespace

namespace DAROPE_ISA {

void multiply(const Product<float>& p, int64_t first, int64_t last) { by_strips(p, first, last); }

}  // namespace DAROPE_ISA
}  // namespace darope::kernels
