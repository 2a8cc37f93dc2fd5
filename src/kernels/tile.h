#pragma once
#include <algorithm>

#include "kernels/simd.h"

// Small matrix products, a tile of the result in registers. What simd.h says of linkage holds here too.
namespace darope::kernels {
namespace {

// Registers as they are: of longer vectors the compiler would keep no array in them.
#if defined __AVX512F__
constexpr int64_t kTileBytes = 64, kTileRows = 4, kTileVectors = 4;
#elif defined __AVX2__
constexpr int64_t kTileBytes = 32, kTileRows = 6, kTileVectors = 2;
#else
constexpr int64_t kTileBytes = 16, kTileRows = 6, kTileVectors = 2;
#endif
template <class C>
struct Register {
  typedef C type __attribute__((vector_size(kTileBytes)));
};
static_assert(kTileBytes <= kLanes * int64_t(sizeof(float)));

// Element (i, p) lies at data[i * row + p * step].
template <class C>
struct Left {
  const C* data;
  int64_t row, step;
  Left from(int64_t i, int64_t p) const { return {data + i * row + p * step, row, step}; }
};
// Rows of neighbouring elements.
template <class C>
struct Rows {
  C* data;
  int64_t row;
  Rows from(int64_t i, int64_t j) const { return {data + i * row + j, row}; }
};

template <int64_t rows, int64_t vectors, class C>
inline void multiply_tile(const Left<C>& a, const Rows<const C>& b, int64_t depth, const Rows<C>& c,
                          bool add) {
  using V = typename Register<C>::type;
  constexpr int64_t lanes = kTileBytes / sizeof(C);
  const auto get = [](const C* from) {
    V out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  V sums[rows][vectors] = {};
  for (int64_t p = 0; p < depth; ++p) {
    V bs[vectors];
    for (int64_t v = 0; v < vectors; ++v) bs[v] = get(b.data + p * b.row + v * lanes);
    for (int64_t i = 0; i < rows; ++i) {
      const C x = a.data[i * a.row + p * a.step];
      for (int64_t v = 0; v < vectors; ++v) sums[i][v] += x * bs[v];
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t v = 0; v < vectors; ++v) {
      C* const to = c.data + i * c.row + v * lanes;
      const V sum =
          add ? get(to) + sums[i][v] : sums[i][v];  // added last: what adds up in parts is rounded less
      std::memcpy(to, &sum, sizeof sum);
    }
}

// c = a b, or c += a b: `rows` rows of `columns` elements, a multiple of kLanes.
template <class C>
inline void multiply(const Left<C>& a, const Rows<const C>& b, int64_t rows, int64_t columns, int64_t depth,
                     const Rows<C>& c, bool add = false) {
  constexpr int64_t lanes = kTileBytes / sizeof(C);
  in_blocks<kTileRows>(0, rows, [&]<int64_t tall>(int64_t i, Number<tall>) {
    in_blocks<kTileVectors>(0, columns / lanes, [&]<int64_t wide>(int64_t j, Number<wide>) {
      multiply_tile<tall, wide>(a.from(i, 0), b.from(0, j * lanes), depth, c.from(i, j * lanes), add);
    });
  });
}

// to[p, i] = from[i, p] for `rows` rows of `depth` elements; zeros behind the last row, up to a multiple of
// kLanes.
template <class C>
inline void transpose(const Rows<const C>& from, int64_t rows, int64_t depth, const Rows<C>& to) {
  for (int64_t i = 0; i < rows; i += kLanes)
    for (int64_t p = 0; p < depth; p += kLanes) {
      Vector<C> block[kLanes], next[kLanes];
      for (int64_t r = 0; r < kLanes; ++r)
        block[r] = i + r < rows ? read(from.data + (i + r) * from.row + p, depth - p) : Vector<C>{};
      for (int64_t round = 0; round < 4;
           ++round) {  // each turns the address (row, column) by one bit of eight
        for (int64_t r = 0; r < kLanes / 2; ++r) {
          next[2 * r] = __builtin_shufflevector(block[r], block[r + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                                21, 6, 22, 7, 23);
          next[2 * r + 1] = __builtin_shufflevector(block[r], block[r + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12,
                                                    28, 13, 29, 14, 30, 15, 31);
        }
        for (int64_t r = 0; r < kLanes; ++r) block[r] = next[r];
      }
      for (int64_t r = 0; r < std::min(kLanes, depth - p); ++r)
        write(to.data + (p + r) * to.row + i, block[r], kLanes);
    }
}

}  // namespace
}  // namespace darope::kernels
