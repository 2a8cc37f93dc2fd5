#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "encodings/options.h"

namespace darope {

inline constexpr int64_t kMaxHeadDim = 1024;  // the kernels take their frequencies by value

// theta_j = base^(-2j/d) for j < d/2, in double: the angle a band turns per token. Band 0 is the fastest.
std::vector<double> frequencies(int64_t head_dim, double base);

// K = #{j : theta_j >= 2 pi / L} (Eq. 2): bands that complete a turn inside the training context L. The rest
// are slow.
int64_t count_fast(const std::vector<double>& theta, double train_length);

// What `darope bands` prints for one band.
struct Band {
  int64_t index;
  double theta, wavelength, turns;  // wavelength in tokens; turns completed inside the window
  bool fast;
};
std::vector<Band> describe_bands(int64_t head_dim, double base, int64_t train_length);

// Throw darope::Error unless the value makes sense, naming the argument as the caller wrote it.
void check_head_dim(int64_t head_dim, const char* argument = "head_dim");
void check_base(double base, const char* argument = "base");
void check_train_length(int64_t train_length, const char* argument = "train_length");

// The options of every banded encoding: `base`, and `slow_bands`, which moves the cut; the number of fast
// bands comes back.
double read_base(Options& options, double otherwise = 500'000);
int64_t read_fast(Options& options, const std::vector<double>& theta, int64_t train_length);

}  // namespace darope
