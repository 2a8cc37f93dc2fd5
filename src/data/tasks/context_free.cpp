#include "base/error.h"
#include "data/tasks/expression.h"
#include "data/tasks/families.h"

namespace darope {
namespace {

std::string reversed(std::string_view body) { return {body.rbegin(), body.rend()}; }

// A stack of k bits, bottom to top, then n-k actions: 2 pops (nothing, if empty), 3 pushes 0, 4 pushes 1.
std::string stack_and_actions(Random& random, int64_t n) {
  const int64_t k = n > 1 ? random.between(1, n - 1) : 1;
  const std::string stack = bits(random, k);
  return stack + draw(random, "234", n - k);
}
std::string final_stack(std::string_view body) {
  std::string stack;
  for (const char c : body) {
    if (c != '2')
      stack += c == '3' ? '0' : c == '4' ? '1' : c;
    else if (!stack.empty())
      stack.pop_back();
  }
  return reversed(stack);  // top first
}

// Writes an expression of exactly n symbols.
void bracketed(Random& random, int64_t n, std::string_view operators, std::string& out) {
  constexpr std::string_view before[] = {"", "-", "(", "(-"};
  if (n <= 4) {
    out += before[n - 1];
    out += draw(random, "01234");
  } else {
    const int64_t left = random.between(1, n - 4);
    out += '(';
    bracketed(random, left, operators, out);
    out += draw(random, operators);
    bracketed(random, n - 3 - left, operators, out);
  }
  if (n > 2) out += ')';
}
std::string bracketed(Random& random, int64_t n, std::string_view operators) {
  std::string text;
  bracketed(random, n, operators, text);
  return text;
}
std::string bracketed_expression(Random& random, int64_t n) { return bracketed(random, n, "+-*"); }

// One digit becomes x: the first at or after a uniform place, wrapping around. Without products x keeps a
// slope of +1 or -1, so the solution is unique.
std::string equation(Random& random, int64_t n) {
  std::string left = bracketed(random, n - 2, "+-");
  const std::string right = value(left);
  size_t at = random.below(left.size());
  while (kDigits.find(left[at]) == std::string_view::npos) at = (at + 1) % left.size();
  left[at] = 'x';
  return left + "=" + right;
}
std::string solve_equation(std::string_view body) {
  const size_t equals = body.find('=');
  if (equals == std::string_view::npos) throw Error("equation '" + std::string(body) + "' has no '='");
  const Linear left = evaluate(body.substr(0, equals)), right = evaluate(body.substr(equals + 1));
  for (int x = 0; x < kModulus && left.slope != 0; ++x)
    if ((left.constant + left.slope * x) % kModulus == right.constant) return std::to_string(x);
  throw Error("equation '" + std::string(body) + "' has no unique solution");
}

}  // namespace

struct ContextFreeTasks {
  static std::vector<Task> rows() {
    constexpr Family family = Family::context_free;
    constexpr double third =
        1.0 / 3;  // of an output alphabet with a terminator, which these answers do not have
    return {
        {"reverse_string", "R", family, Answer::sequence, 0.1, 0.1, true, 1, same, same, digits, reversed},
        {"stack_manipulation", "ST", family, Answer::sequence, third, 0.5, true, 1, same, same,
         stack_and_actions, final_stack},
        {"modular_arithmetic_brackets", "MB", family, Answer::single, 0.2, 0.2, false, 1, same, one,
         bracketed_expression, value},
        {"solve_equation", "EQ", family, Answer::single, 0.2, 0.2, false, 3, same, one, equation,
         solve_equation},
    };
  }
};
template std::vector<Task> tasks_of<ContextFreeTasks>();

}  // namespace darope
