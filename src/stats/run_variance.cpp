#include "stats/run_variance.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace darope::stats {
namespace {

constexpr double kPriorDf = 2;        // of the pooled variance, for an encoding among the others
constexpr double kApartLevel = 0.05;  // of the F test, over all encodings still together

// Solves the symmetric positive definite system in place (Cholesky); rows of `a` are `n` apart.
void solve(Values& a, Values& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

}  // namespace

Values split_sums(const Values& pair_sums, const Values& pair_weights, size_t encodings,
                  const std::vector<size_t>& members) {
  const size_t n = members.size();
  Values matrix(n * n), right(n), result(encodings);
  double total = 0, weight = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n; ++j) {
      const size_t pair = pair_index(members[i], members[j], encodings);
      const double w = pair_weights[pair], sum = w * pair_sums[pair];
      matrix[j * n + i] = w;
      matrix[i * n + i] += w;
      matrix[j * n + j] += w;
      right[i] += sum;
      right[j] += sum;
      total += sum;
      weight += w;
    }
  if (weight == 0) return result;
  const double even = 1e-9 * weight;  // a pull towards equal shares, felt only where nothing else decides
  for (size_t i = 0; i < n; ++i) {
    matrix[i * n + i] += even;
    right[i] += even * total / (2 * weight);
  }
  solve(matrix, right);
  for (size_t i = 0; i < n; ++i) result[members[i]] = right[i];
  return result;
}

RunVariance::RunVariance(size_t encodings, const Values& pair_df)
    : encodings_(encodings), pair_df_(pair_df), own_df_(encodings), limit_(encodings + 1) {
  for (size_t a = 0; a < encodings; ++a)
    for (size_t b = a + 1; b < encodings; ++b)
      for (const size_t e : {a, b}) own_df_[e] = std::max(own_df_[e], pair_df[pair_index(a, b, encodings)]);
  double df = 0;
  for (const double each : own_df_) df += each / double(encodings);
  for (size_t n = 3; n <= encodings && df > 0; ++n)
    limit_[n] = quantile(complement(boost::math::fisher_f(df, df * double(n - 2)), kApartLevel / double(n)));
}

double RunVariance::pooled(const Values& pair_variances, const Members& members) const {
  double sum = 0, df = 0;
  for (size_t i = 0; i < members.size(); ++i)
    for (size_t j = i + 1; j < members.size(); ++j) {
      const size_t pair = pair_index(members[i], members[j], encodings_);
      sum += pair_df_[pair] * pair_variances[pair];
      df += pair_df_[pair];
    }
  return df > 0 ? sum / (2 * df) : 0;
}

RunVariance::Members RunVariance::without(const Members& members, size_t left_out) const {
  Members rest;
  std::copy_if(members.begin(), members.end(), std::back_inserter(rest),
               [=](size_t e) { return e != left_out; });
  return rest;
}

RunVariance::Estimate RunVariance::estimate(const Values& pair_variances) const {
  Estimate result{Values(encodings_), std::vector<uint8_t>(encodings_)};
  Members members(encodings_);
  std::iota(members.begin(), members.end(), size_t{0});
  Values own = split_sums(pair_variances, pair_df_, encodings_, members);
  while (members.size() > 2) {
    const size_t widest = *std::max_element(members.begin(), members.end(),
                                            [&](size_t a, size_t b) { return own[a] < own[b]; });
    const Members rest = without(members, widest);
    if (own[widest] <= limit_[members.size()] * pooled(pair_variances, rest)) break;
    result.apart[widest] = 1;
    result.variance[widest] = own[widest];
    members = rest;
    own = split_sums(pair_variances, pair_df_, encodings_, members);
  }
  const double together = pooled(pair_variances, members);
  for (const size_t e : members) {
    const double drawn = (kPriorDf * together + own_df_[e] * own[e]) / (kPriorDf + own_df_[e]);
    result.variance[e] = std::max({own[e], drawn, 0.0});
  }
  return result;
}

}  // namespace darope::stats
