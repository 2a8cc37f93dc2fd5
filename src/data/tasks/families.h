#pragma once
#include <algorithm>

#include "data/tasks/task.h"

namespace darope {

// Each family's file ends in its rows of the table, beside the functions they name.
std::vector<Task> regular_tasks();
std::vector<Task> context_free_tasks();
std::vector<Task> context_sensitive_tasks();
std::vector<Task> retrieval_tasks();
std::vector<Task> positional_tasks();

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
