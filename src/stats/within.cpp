#include "stats/within.h"

#include <cmath>

namespace darope::stats {
namespace {

// Every score less its example's mean over methods.
Table centred_on_examples(Table scores) {
  check(scores, 2, 2, "a within-example interval");
  const size_t examples = scores.front().size();
  for (size_t i = 0; i < examples; ++i) {
    double centre = 0;
    for (const Values& method : scores) centre += method[i] / double(scores.size());
    for (Values& method : scores) method[i] -= centre;
  }
  return scores;
}

}  // namespace

Values cousineau_morey(const Table& scores, double confidence) {
  const Table centred = centred_on_examples(scores);
  const double methods = double(scores.size()), examples = double(scores.front().size());
  const double scale =
      t_quantile(confidence, examples - 1) / std::sqrt(examples) * std::sqrt(methods / (methods - 1));
  Values half_widths;
  for (const Values& method : centred) half_widths.push_back(scale * sd(method));
  return half_widths;
}

double loftus_masson(const Table& scores, double confidence) {
  const Table centred = centred_on_examples(scores);
  const double methods = double(scores.size()), examples = double(scores.front().size());
  double pooled =
      0;  // the sum over methods of variances is the interaction's sum of squares over (examples - 1)
  for (const Values& method : centred) pooled += sd(method) * sd(method);
  return t_quantile(confidence, (examples - 1) * (methods - 1)) *
         std::sqrt(pooled / (methods - 1) / examples);
}

}  // namespace darope::stats
