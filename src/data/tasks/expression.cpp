#include "data/tasks/expression.h"

#include <string>

#include "base/error.h"

namespace darope {
namespace {

int reduce(int value) { return (value % kModulus + kModulus) % kModulus; }

// Recursive descent: sum = product (+- product)*, product = signed (* signed)*, signed = -signed | atom.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Linear whole() {
    const Linear value = sum();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) { return peek() == c && ++at_; }
  [[noreturn]] void fail() const {
    throw Error("expression '" + std::string(text_) + "' cannot be read at position " +
                std::to_string(at_ + 1));
  }

  Linear sum() {
    Linear a = product();
    for (;;) {
      const int sign = take('+') ? 1 : take('-') ? -1 : 0;
      if (sign == 0) return a;
      const Linear b = product();
      a = {reduce(a.constant + sign * b.constant), reduce(a.slope + sign * b.slope)};
    }
  }
  Linear product() {
    Linear a = negated();
    while (take('*')) {
      const Linear b = negated();
      if (a.slope && b.slope) fail();
      a = {reduce(a.constant * b.constant), reduce(a.constant * b.slope + a.slope * b.constant)};
    }
    return a;
  }
  Linear negated() {
    if (!take('-')) return atom();
    const Linear a = negated();
    return {reduce(-a.constant), reduce(-a.slope)};
  }
  Linear atom() {
    if (take('x')) return {0, 1};
    if (take('(')) {
      const Linear inner = sum();
      if (!take(')')) fail();
      return inner;
    }
    const char c = peek();
    if (c < '0' || c > '9') fail();
    ++at_;
    return {reduce(c - '0'), 0};
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Linear evaluate(std::string_view expression) { return Parser(expression).whole(); }
std::string value(std::string_view expression) { return std::to_string(evaluate(expression).constant); }

}  // namespace darope
