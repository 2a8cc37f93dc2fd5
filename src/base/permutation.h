#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/random.h"

namespace darope {

// An order of 0 .. size-1 drawn from a stream of random numbers, which takes no memory however many there
// are: a Feistel network over the next power of four, through which what falls outside goes again.
class Permutation {
 public:
  Permutation(uint64_t size, Random random)
      : size_(size), half_(std::max(1, (int(std::bit_width(size - 1)) + 1) / 2)) {
    for (uint64_t& key : keys_) key = random.bits64();
  }
  uint64_t operator()(uint64_t i) const {
    do i = shuffle(i);
    while (i >= size_);
    return i;
  }

 private:
  uint64_t shuffle(uint64_t i) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = i >> half_, right = i & mask;
    for (const uint64_t key : keys_) {
      uint64_t mixed = (right ^ key) * 0x9E3779B97F4A7C15;
      mixed = (mixed ^ (mixed >> 32)) * 0xBF58476D1CE4E5B9;
      left = std::exchange(right, left ^ ((mixed >> 32) & mask));
    }
    return left << half_ | right;
  }

  uint64_t size_;
  int half_;
  std::array<uint64_t, 6> keys_{};
};

}  // namespace darope
