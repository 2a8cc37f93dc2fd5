#include <charconv>

#include "base/error.h"
#include "data/tasks/families.h"

namespace darope {
namespace {

constexpr int64_t kLongestOffset = 9999;  // written in four digits

// Digits, then k: which digit counted from the end, one-based.
std::string digits_and_offset(Random& random, int64_t n) {
  const std::string text = digits(random, n), k = std::to_string(random.between(1, n));
  return text + "#" + std::string(4 - k.size(), '0') + k;
}
int64_t with_offset(int64_t n) { return n + 5; }
std::string from_the_end(std::string_view body) {
  const size_t mark = body.find('#');
  size_t k = 0;
  std::from_chars(body.data() + mark + 1, body.data() + body.size(), k);
  if (k < 1 || k > mark) throw Error("offset outside the digits in '" + std::string(body) + "'");
  return std::string(1, body[mark - k]);
}

template <class Values>
void shuffle(Random& random, Values& values) {
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

// n pairs of a letter and a digit, then the letter asked for. It occurs `times` times with different values;
// other letters may repeat, or long bodies would run out of them.
std::string pairs_and_query(Random& random, int64_t n, int64_t times) {
  std::string others(kLetters);
  const size_t asked = random.below(others.size());
  const char query = others[asked];
  others.erase(asked, 1);
  std::string keys = std::string(size_t(times), query) + draw(random, others, n - times);
  shuffle(random, keys);
  std::string values = digits(random, n);
  const size_t first = keys.find(query), last = keys.rfind(query);
  while (first != last && values[first] == values[last]) values[last] = draw(random, kDigits);
  std::string text;
  for (size_t i = 0; i < keys.size(); ++i) (text += keys[i]) += values[i];
  return text + "?" + query;
}
std::string key_once(Random& random, int64_t n) { return pairs_and_query(random, n, 1); }
std::string key_twice(Random& random, int64_t n) { return pairs_and_query(random, n, 2); }
int64_t with_query(int64_t n) { return 2 * n + 2; }

std::string latest_value(std::string_view body) {
  for (size_t i = body.size() - 2; i >= 2; i -= 2)  // a pair ends where i stands
    if (body[i - 2] == body.back()) return std::string(1, body[i - 1]);
  throw Error("the key asked for does not occur in '" + std::string(body) + "'");
}

}  // namespace

struct PositionalTasks {
  static std::vector<Task> rows() {
    constexpr Family family = Family::positional;
    return {
        {"fixed_offset", "FO", family, Answer::single, 0.1, 0.1, true, 1, with_offset, one, digits_and_offset,
         from_the_end, kLongestOffset},
        {"dup_key_recall", "DK", family, Answer::single, 0.1, 0.1, true, 2, with_query, one, key_twice,
         latest_value},
        {"assoc_recall", "AR", family, Answer::single, 0.1, 0.1, true, 1, with_query, one, key_once,
         latest_value},
    };
  }
};
template std::vector<Task> tasks_of<PositionalTasks>();

}  // namespace darope
