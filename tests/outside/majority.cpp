#include "data/tasks/families.h"

namespace darope {

// Which of two letters occurs more often; the length is odd, so that one does.
struct MajorityTasks {
  static std::string odd_letters(Random& random, int64_t n) { return draw(random, "ab", n - (n + 1) % 2); }
  static std::string majority(std::string_view body) {
    return 2 * std::count(body.begin(), body.end(), 'a') > int64_t(body.size()) ? "a" : "b";
  }
  static std::vector<Task> rows() {
    return {{.name = "majority",
             .prefix = "MJ",
             .family = Family::regular,
             .kind = Answer::single,
             .chance = 0.5,
             .true_chance = 0.5,
             .headline = false,
             .min_n = 1,
             .body_length = same,
             .answer_length = one,
             .body = odd_letters,
             .solve = majority}};
  }
};
template std::vector<Task> tasks_of<MajorityTasks>();

}  // namespace darope
