#pragma once
#include <map>
#include <string>

#include "data/dataset.h"

namespace darope {

// The loss of counting, by name and test length: of tokens (unigram) and of pairs of them (bigram), in the
// batches that a training begins with, up to a million tokens. A model that is not below has learned nothing
// of order.
std::map<std::string, std::map<double, double>> losses_of_counting(const Dataset& data);

}  // namespace darope
