#pragma once
#include <cstdint>
#include <string>

#include "stats/basic.h"

namespace darope::stats {

// A two-sided t-test of the mean difference between paired scores. With thousands of examples p underflows
// long before the question is settled, so the natural logarithm is kept beside it and is right in the far
// tail.
struct PairedTest {
  int64_t n = 0;
  double mean = 0, sd = 0, t = 0, df = 0, p = 1, ln_p = 0;
};
Values differences(const Values& a, const Values& b);  // a - b, example by example
// Differences that are all 0 give p = 1. Where all are the same and not 0, t is infinite and its p of 0 would
// claim more than n examples can: p is then 2^(1-n), the chance of n fair coins agreeing.
PairedTest paired_t(const Values& differences);

double ln_p_two_sided(double t, double df);
std::string p_text(double ln_p);  // "0.031", "4.3e-653"

// Holm's step-down adjustment, logarithms in and out: ln 0 never has to be taken for an answer.
Values holm(const Values& ln_p);

Interval mean_interval(const Values& differences, double confidence = 0.95);

// Cohen's d_z, the mean over the spread of the differences, with Hedges' exact correction for small samples.
double effect_size(const Values& differences);

}  // namespace darope::stats
