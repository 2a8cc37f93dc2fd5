#include <array>
#include <utility>

#include "data/tasks/families.h"

namespace darope {
namespace {

// Per position: has this symbol occurred before?
std::string seen_before(std::string_view body) {
  std::array<bool, 256> seen{};
  std::string text;
  for (const char c : body) text += std::exchange(seen[static_cast<unsigned char>(c)], true) ? '1' : '0';
  return text;
}

// Per position: what followed the latest earlier occurrence of this symbol, or 0 if there was none.
std::string induction(std::string_view body) {
  std::array<char, 256> follower;
  follower.fill('0');
  std::string text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (i > 0) follower[static_cast<unsigned char>(body[i - 1])] = body[i];
    text += follower[static_cast<unsigned char>(body[i])];
  }
  return text;
}

}  // namespace

struct RetrievalTasks {
  static std::vector<Task> rows() {
    constexpr Family family = Family::retrieval;
    return {
        {"needle", "N", family, Answer::sequence, 0.06, 0.5, true, 1, same, same, digits, seen_before},
        {"induction", "I", family, Answer::sequence, 0.02, 0.1, true, 1, same, same, digits, induction},
    };
  }
};
template std::vector<Task> tasks_of<RetrievalTasks>();

}  // namespace darope
