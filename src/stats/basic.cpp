#include "stats/basic.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"

namespace darope::stats {
namespace {

void check_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw Error("a confidence of " + std::to_string(confidence) + " is not between 0 and 1");
}

void check_count(size_t count, size_t at_least, std::string_view what, const char* of) {
  if (count >= at_least) return;
  throw Error(std::string(what) + " needs at least " + std::to_string(at_least) + of + ", not " +
              std::to_string(count));
}

}  // namespace

void check(const Values& values, size_t at_least, std::string_view what) {
  check_count(values.size(), at_least, what, " values");
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw Error(std::string(what) + ": value " + std::to_string(i) + " is not a finite number");
}

void check(const Table& rows, size_t rows_at_least, size_t columns_at_least, std::string_view what) {
  check_count(rows.size(), rows_at_least, what, " rows");
  for (const Values& row : rows) {
    check(row, columns_at_least, what);
    if (row.size() != rows.front().size())
      throw Error(std::string(what) + ": rows of " + std::to_string(rows.front().size()) + " and of " +
                  std::to_string(row.size()) + " values");
  }
}

double mean(const Values& values) {
  check(values, 1, "a mean");
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double sd(const Values& values) {
  check(values, 2, "a standard deviation");
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  const double rounding = 1e-12 * std::max(std::abs(*least), std::abs(*greatest));
  if (*greatest - *least <= rounding)
    return 0;  // or a constant difference would pass for one with a tiny spread
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / double(values.size() - 1));
}

double t_quantile(double confidence, double df) {
  check_confidence(confidence);
  return quantile(complement(boost::math::students_t(df), (1 - confidence) / 2));
}

double normal_quantile(double confidence) {
  check_confidence(confidence);
  return quantile(complement(boost::math::normal(), (1 - confidence) / 2));
}

}  // namespace darope::stats
