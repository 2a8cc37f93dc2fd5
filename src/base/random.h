#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>

namespace darope {

// Philox4x32-10 (Salmon et al. 2011): four random words from a counter and a key, with no state to carry.
constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ key[1],
               uint32_t(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

// A stream of random numbers named by (seed, purpose, index): the same name gives the same numbers on every
// machine, whatever else was drawn before. Purposes are words such as "init/model.norm.weight" or
// "task/parity/train".
class Random {
 public:
  Random(uint64_t seed, std::string_view purpose, uint64_t index = 0) : index_(index) {
    uint64_t hash = 0xCBF29CE484222325;  // FNV-1a over the purpose, then the seed mixed in
    for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    hash = mix(hash ^ mix(seed));
    key_ = {uint32_t(hash), uint32_t(hash >> 32)};
  }

  uint32_t bits32() {
    if (used_ == 4) {
      block_ =
          philox({uint32_t(next_), uint32_t(next_ >> 32), uint32_t(index_), uint32_t(index_ >> 32)}, key_);
      ++next_;
      used_ = 0;
    }
    return block_[used_++];
  }
  uint64_t bits64() {
    const uint64_t high = bits32();
    return high << 32 | bits32();
  }

  // Uniform on 0 .. count-1, without bias (Lemire's method).
  uint64_t below(uint64_t count) {
    unsigned __int128 product = static_cast<unsigned __int128>(bits64()) * count;
    if (uint64_t(product) < count) {
      const uint64_t threshold = (0 - count) % count;
      while (uint64_t(product) < threshold) product = static_cast<unsigned __int128>(bits64()) * count;
    }
    return uint64_t(product >> 64);
  }
  int64_t between(int64_t first, int64_t last) {
    return first + int64_t(below(uint64_t(last - first) + 1));
  }  // both included
  double uniform() { return double(bits64() >> 11) * 0x1p-53; }  // [0, 1)
  double normal() {                                              // Box-Muller, the cosine half
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  static constexpr uint64_t mix(uint64_t z) {  // splitmix64's finaliser
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  std::array<uint32_t, 2> key_{};
  uint64_t index_, next_ = 0;
  std::array<uint32_t, 4> block_{};
  size_t used_ = 4;
};

}  // namespace darope
