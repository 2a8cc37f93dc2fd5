#include "data/tasks/expression.h"
#include "data/tasks/families.h"

namespace darope {
namespace {

// How often neighbours differ, modulo 2: 1 means odd. Only the two ends matter.
std::string even_pairs(std::string_view body) { return body.front() == body.back() ? "0" : "1"; }

std::string parity(std::string_view body) {
  return std::count(body.begin(), body.end(), '1') % 2 ? "1" : "0";
}

// A walk on a ring of five: 0 steps back, 1 stays, 2 steps forward.
std::string moves(Random& random, int64_t n) { return draw(random, "012", n); }
std::string cycle_navigation(std::string_view body) {
  int at = 0;
  for (const char c : body) at = (at + (c - '1') + kModulus) % kModulus;
  return std::to_string(at);
}

// Digits and operators take turns, so the body has an odd length.
std::string flat_expression(Random& random, int64_t n) {
  std::string text;
  for (int64_t i = 0; i < n - (n + 1) % 2; ++i) text += draw(random, i % 2 ? "+*-" : "01234");
  return text;
}

}  // namespace

struct RegularTasks {
  static std::vector<Task> rows() {
    constexpr Family family = Family::regular;
    return {
        {"even_pairs", "EP", family, Answer::single, 0.5, 0.5, true, 1, same, one, bits, even_pairs},
        {"parity", "P", family, Answer::single, 0.5, 0.5, true, 1, same, one, bits, parity},
        {"cycle_navigation", "CY", family, Answer::single, 0.2, 0.2, true, 1, same, one, moves,
         cycle_navigation},
        {"modular_arithmetic", "MA", family, Answer::single, 0.2, 0.2, false, 1, same, one, flat_expression,
         value},
    };
  }
};
template std::vector<Task> tasks_of<RegularTasks>();

}  // namespace darope
