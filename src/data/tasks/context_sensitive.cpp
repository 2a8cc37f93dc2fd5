#include <boost/multiprecision/cpp_int.hpp>
#include <iterator>

#include "data/tasks/families.h"

namespace darope {
namespace {

using boost::multiprecision::cpp_int;

std::string duplicate(std::string_view body) { return std::string(body) + std::string(body); }

// A string of bits written twice with one place blanked by a 2; an odd n is rounded down.
std::string blanked_duplicate(Random& random, int64_t n) {
  std::string text = duplicate(bits(random, n / 2));
  text[random.below(text.size())] = '2';
  return text;
}
std::string missing_bit(std::string_view body) {
  body = body.substr(0, body.find('3'));  // trailing 3s pad an odd length where others generate the body
  const size_t half = body.size() / 2, blank = body.find('2');
  return std::string(1, body[(blank + half) % (2 * half)]);
}

std::string odds_first(std::string_view body) {
  std::string text;
  for (const size_t first : {1, 0})
    for (size_t i = first; i < body.size(); i += 2) text += body[i];
  return text;
}

std::string sorted(std::string_view body) {
  std::string text(body);
  std::sort(text.begin(), text.end());
  return text;
}

// Numbers have hundreds of bits. Text order: little-endian for sums and products, big-endian for roots.
cpp_int number(std::string_view text, bool big_endian) {
  std::string values(text);
  for (char& c : values) c = char(c - '0');
  cpp_int result;
  import_bits(result, values.begin(), values.end(), 1, big_endian);
  return result;
}
std::string text_of(const cpp_int& value, bool big_endian) {  // without padding
  std::string text;
  export_bits(value, std::back_inserter(text), 1, big_endian);
  for (char& c : text) c = char(c + '0');
  return text;
}

std::string positive(Random& random, int64_t length) {  // uniform on 1 .. 2^length - 1, zero-padded
  std::string text;
  do text = bits(random, length);
  while (text.find('1') == std::string::npos);
  return text;
}
std::string two_numbers(Random& random, int64_t n, char sign) {
  const int64_t first = random.between(1, n - 2);
  const std::string a = positive(random, first);
  return a + sign + positive(random, n - 1 - first);
}

std::string two_terms(Random& random, int64_t n) { return two_numbers(random, n, '+'); }
std::string add(std::string_view body) {
  const size_t sign = body.find('+');
  return text_of(number(body.substr(0, sign), false) + number(body.substr(sign + 1), false), false);
}

std::string two_factors(Random& random, int64_t n) { return two_numbers(random, n, '*'); }
std::string multiply(std::string_view body) {
  const size_t sign = body.find('*');
  return text_of(number(body.substr(0, sign), false) * number(body.substr(sign + 1), false), false);
}

int64_t half_up(int64_t n) { return (n + 1) / 2; }
std::string square_root(std::string_view body) {
  const std::string root = text_of(sqrt(number(body, true)), true);
  return std::string(size_t(half_up(int64_t(body.size()))) - root.size(), '0') + root;
}

}  // namespace

struct ContextSensitiveTasks {
  static std::vector<Task> rows() {
    constexpr Family family = Family::context_sensitive;
    constexpr double third =
        1.0 / 3;  // of an output alphabet with a terminator, which these answers do not have
    return {
        {"duplicate_string", "D", family, Answer::sequence, 0.1, 0.1, true, 1, same, twice, digits,
         duplicate},
        {"missing_duplicate_string", "MD", family, Answer::single, 0.1, 0.5, true, 2, same, one,
         blanked_duplicate, missing_bit},
        {"odds_first", "OF", family, Answer::sequence, 0.1, 0.1, true, 1, same, same, digits, odds_first},
        {"binary_addition", "BA", family, Answer::sequence, third, 0.5, true, 3, same, same, two_terms, add},
        {"bucket_sort", "S", family, Answer::sequence, 0.1, 0.1, true, 1, same, same, digits, sorted},
        {"binary_multiplication", "BM", family, Answer::sequence, 0.5, 0.5, false, 3, same, same, two_factors,
         multiply},
        {"compute_sqrt", "SQ", family, Answer::sequence, 0.5, 0.5, false, 1, same, half_up, positive,
         square_root},
    };
  }
};
template std::vector<Task> tasks_of<ContextSensitiveTasks>();

}  // namespace darope
