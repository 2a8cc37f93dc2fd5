#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runs/scores.h"

namespace darope::report {

// Names come from files of strangers: escape() before they enter HTML, printable() before they reach a
// terminal.
std::string escape(std::string_view text);
std::string printable(std::string_view text);

std::string plural(size_t count, const char* noun);           // "1 run", "2 runs"
std::string and_list(const std::vector<std::string>& names);  // "a, b and c"
std::string metric_name(const Metric& metric);                // "loss (nats per token)"
std::string place_name(const Axis& axis, double x);           // "8x"; "" for 0, which is no place
std::string at_place(const Axis& axis, double x);             // "at 8x the training length"
std::string score_text(double value, bool higher_better);     // an accuracy in percent, a loss as it is
std::string score_text(const std::optional<double>& value, bool higher_better);  // "–" where there is none
// With its sign, rounded once: points of a share, or as it is; what rounds to 0 is "0.0".
std::string size_text(double value, bool share);  // of a difference, whichever way it goes
std::string unit_text(const Metric& metric);      // "points" of a share, else its unit
std::string difference_text(double value, bool share);
std::string count_text(double count);  // "132 thousand", "1.2 billion"

}  // namespace darope::report
