#pragma once
#include "base/random.h"
#include "comparison.h"

namespace darope::report {

// Against darope: nope is worse by far, hope is tied, pope is undecided because its seeds disagree.
inline double planted(const std::string& encoding, int64_t seed, double x, int64_t i) {
  const double level = (x == 1 ? 0.8 : 0.7) + 0.02 * double(i % 5);
  if (encoding == "nope") return level - 0.30 + 0.05 * double(i % 3);
  if (encoding == "hope") return level + (i % 2 ? 0.002 : -0.002);
  if (encoding == "pope") return level + (seed == 0 ? 0.05 : -0.03) + 0.04 * (double(i % 4) - 1.5);
  return level;
}
inline double guessing(const std::string&, int64_t seed, double, int64_t i) {
  return 0.5 + 0.01 * double((i + seed) % 3 - 1);
}

// The same, run after run: against darope, nope is worse by far, hope is tied, pope varies too much to tell.
// All lie lower, so that pope's best run is still a share.
inline double steady(const std::string& encoding, int64_t seed, double x, int64_t i) {
  const double run = 0.0004 * Random(uint64_t(seed), encoding).normal();
  const double swing = encoding == "pope" ? (seed % 2 ? -0.08 : 0.08) - (seed == 0 ? 0.05 : -0.03) : 0;
  return planted(encoding, 0, x, i) - 0.15 + run + swing;
}

inline const std::vector<std::string> kEncodings = {"darope", "hope", "nope", "pope"};

inline void plant(const Comparison& to, const std::string& dataset, const Comparison::Score& score = planted,
                  const Json& changes = Json::object(), int64_t seeds = 2) {
  for (const std::string& encoding : kEncodings)
    for (int64_t seed = 0; seed < seeds; ++seed)
      to.add(dataset, encoding, seed, "token_accuracy", {1, 2}, score, changes);
}

}  // namespace darope::report
