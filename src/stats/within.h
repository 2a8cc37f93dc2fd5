#pragma once
#include "stats/basic.h"

namespace darope::stats {

// Half-widths of within-example intervals: the spread between examples, which all methods share, is taken out
// first. Rows are methods, columns examples; at least two of each.
Values cousineau_morey(const Table& scores, double confidence = 0.95);  // one per method
double loftus_masson(const Table& scores,
                     double confidence = 0.95);  // one for all, from the pooled interaction

}  // namespace darope::stats
