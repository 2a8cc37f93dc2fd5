#pragma once
#include <algorithm>

#include "data/tasks/task.h"

namespace darope {

// A file of tasks ends in a struct that has their rows, beside the functions these name, and in
// `template std::vector<Task> tasks_of<ThatStruct>();`.
template <class Rows>
std::vector<Task> tasks_of() {
  return Rows::rows();
}

// What the families share: alphabets, uniform draws and the common lengths.
inline constexpr std::string_view kBits = "01", kDigits = "0123456789",
                                  kLetters = "abcdefghijklmnopqrstuvwxyz";

inline char draw(Random& random, std::string_view alphabet) {
  return alphabet[random.below(alphabet.size())];
}
inline std::string draw(Random& random, std::string_view alphabet, int64_t n) {
  std::string text(size_t(n), ' ');
  std::generate(text.begin(), text.end(), [&] { return draw(random, alphabet); });
  return text;
}
inline std::string bits(Random& random, int64_t n) { return draw(random, kBits, n); }
inline std::string digits(Random& random, int64_t n) { return draw(random, kDigits, n); }

inline int64_t one(int64_t) { return 1; }
inline int64_t same(int64_t n) { return n; }
inline int64_t twice(int64_t n) { return 2 * n; }

}  // namespace darope
