#pragma once
#include <string_view>
#include <vector>

namespace darope::stats {

using Values = std::vector<double>;
using Table = std::vector<Values>;  // rows as the function's comment says

struct Interval {
  double low = 0, high = 0;
};

// Statistics of numbers that are not there, or not numbers, are refused: every function below throws an Error
// on a value that is not finite and on fewer values than it needs.
void check(const Values& values, size_t at_least, std::string_view what);
void check(const Table& rows, size_t rows_at_least, size_t columns_at_least,
           std::string_view what);  // rows of one length

double mean(const Values& values);
double sd(const Values& values);  // with n-1; exactly 0 where the values are the same up to rounding
double t_quantile(double confidence, double df);  // two-sided: 0.95 gives the 97.5 % point
double normal_quantile(double confidence);        // likewise

}  // namespace darope::stats
