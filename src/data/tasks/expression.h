#pragma once
#include <string>
#include <string_view>

namespace darope {

inline constexpr int kModulus = 5;

// constant + slope * x, both modulo 5.
struct Linear {
  int constant = 0, slope = 0;
};

// Value of an expression of digits, x, unary and binary minus, plus, times and brackets. At most linear in x.
Linear evaluate(std::string_view expression);
std::string value(std::string_view expression);  // of one without x, as digits

}  // namespace darope
