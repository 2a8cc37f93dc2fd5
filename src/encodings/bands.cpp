#include "encodings/bands.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "base/error.h"

namespace darope {

std::vector<double> frequencies(int64_t head_dim, double base) {
  std::vector<double> theta(static_cast<size_t>(head_dim / 2));
  for (size_t j = 0; j < theta.size(); ++j) theta[j] = std::pow(base, -2.0 * double(j) / double(head_dim));
  return theta;
}

int64_t count_fast(const std::vector<double>& theta, double train_length) {
  return std::count_if(theta.begin(), theta.end(),
                       [&](double t) { return t >= 2 * std::numbers::pi / train_length; });
}

std::vector<Band> describe_bands(int64_t head_dim, double base, int64_t train_length) {
  const std::vector<double> theta = frequencies(head_dim, base);
  const int64_t fast = count_fast(theta, double(train_length));
  std::vector<Band> bands;
  for (int64_t j = 0; j < int64_t(theta.size()); ++j) {
    const double wavelength = 2 * std::numbers::pi / theta[size_t(j)];
    bands.push_back({j, theta[size_t(j)], wavelength, double(train_length) / wavelength, j < fast});
  }
  return bands;
}

void check_head_dim(int64_t head_dim, const char* argument) {
  if (head_dim < 2 || head_dim % 2 != 0 || head_dim > kMaxHeadDim)
    throw Error(std::string(argument) + " must be a positive even number of at most " +
                std::to_string(kMaxHeadDim) + ", since bands are pairs of channels; got " +
                std::to_string(head_dim));
}

void check_base(double base, const char* argument) {
  if (!std::isfinite(base) || base <= 1)
    throw Error(std::string(argument) + " must be a finite number above 1; got " + number_text(base));
}

void check_train_length(int64_t train_length, const char* argument) {
  if (train_length < 1 || train_length > int64_t{1} << 53)
    throw Error(std::string(argument) +
                " must lie between 1 and 2^53, the number of tokens the model trains on; got " +
                std::to_string(train_length));
}

double read_base(Options& options, double otherwise) {
  const double base = options.number("base", otherwise);
  check_base(base);
  return base;
}

int64_t read_fast(Options& options, const std::vector<double>& theta, int64_t train_length) {
  const int64_t bands = int64_t(theta.size());
  const std::optional<int64_t> slow = options.integer("slow_bands");
  if (slow && (*slow < 0 || *slow > bands))
    throw Error("option 'slow_bands' must lie between 0 and the number of bands, " + std::to_string(bands) +
                "; got " + std::to_string(*slow));
  return slow ? bands - *slow : count_fast(theta, double(train_length));
}

}  // namespace darope
