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
    stats::Need need;  // of seeds for all its pairs that are not told apart yet; `nothing`: there are enough
    double seconds = 0;  // that the further runs take, one after another, as long as runs took so far
  };
  std::vector<For> differences = {};  // half the margin, the margin, twice the margin
};
std::vector<Power> powers(const Gathered& all, const Summary& summary);

std::string time_text(double seconds);                       // "3.2 h"
std::string in_words(const Power::For& what);                // "about 8 seeds in all, 3.2 h"
std::string terminal_power(const std::vector<Power>& rows);  // for `compare --power`

}  // namespace darope::report
