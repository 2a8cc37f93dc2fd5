#pragma once
#include "report/summary.h"
#include "stats/power.h"

namespace darope::report {

// What a comparison's present runs could have seen, and what it would take to see less: of one dataset at one
// place, or of all datasets together.
struct Power {
  std::string of;  // a dataset; "" is all of them
  Metric metric;
  double x = 0, margin = 0;
  size_t seeds = 0;                      // of the pair with the fewest
  double least_seen = 0, most_seen = 0;  // true differences that are called better with 80 % power
  struct For {
    double difference = 0;
    stats::Need need =
        {};            // of seeds for all its pairs that are not told apart yet; `nothing`: there are enough
    size_t seeds = 0;  // in all, for those of the open pairs that seeds reach
    std::vector<stats::PairVerdict> open = {}, out_of_reach = {};  // pairs; the second among the first
    double seconds = 0;  // that the further runs take, one after another, as long as runs took so far
  };
  std::vector<For> differences = {};  // half the margin, the margin, twice the margin
};
std::vector<Power> powers(const Gathered& all, const Summary& summary);

std::string time_text(double seconds);               // "3.2 h"
std::string in_words(const Power::For& what);        // "about 8 seeds in all, 3.2 h"
std::string reach_in_words(const Power::For& what);  // "for 2 of 6 open pairs; ..."; "" where that is all
// For `compare --power`; sentences are folded to so many columns, 0: to none.
std::string terminal_power(const std::vector<Power>& rows, size_t columns = 0);

// Why no number of seeds decides these pairs: "the test is too small", "runs vary too much", or both.
std::vector<std::string> limits_of_seeds(const std::vector<stats::PairVerdict>& pairs);
// What to do about them, where any row has some; or "".
std::string out_of_reach_in_words(const std::vector<Power>& rows);

}  // namespace darope::report
