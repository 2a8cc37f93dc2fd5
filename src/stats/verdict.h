#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "stats/paired.h"

namespace darope::stats {

// Scores of one method: rows are seeds, columns test examples. Methods compared share the examples and the
// number of seeds.
struct Method {
  std::string name;
  Table scores;
};

struct Rule {
  bool higher_better = true;
  double margin = 0.01;  // a difference this small does not matter to the reader, in units of the score
};
inline constexpr double kAlpha = 0.05;  // for p, and intervals at 95 %

// What the words need, on scores averaged over seeds per example:
//   tied       the whole 95 % interval of the mean difference lies inside the margin;
//   better     not tied, Holm-adjusted p < 0.05, and the same sign in every seed; worse is the mirror image;
//   undecided  everything else.
// Tied is asked first: a difference can be certain and still too small to matter.
enum class Outcome { better, worse, tied, undecided };
std::string_view name_of(Outcome outcome);

// What would settle an undecided comparison. Seeds are the usual answer: with the per-seed mean differences
// D_1..D_S, their mean D and their spread s, the count is the smallest S' >= 2 at which a seed-level
// interval, D +- t(S'-1) s / sqrt(S'), either leaves zero out (half-width below |D|) or fits the margin
// (half-width at most margin - |D|). It takes D and s at their present values, so it is an order of magnitude
// when S is 2 or 3. One seed shows no spread, so there is no count. Where the seeds present would already do,
// the test examples are too few; or, with p below 0.05, one seed contradicts the others, which no further
// seed can undo.
struct Settling {
  enum class By {
    not_needed,
    seeds,
    unknown_with_one_seed,
    more_seeds_than_sensible,
    examples,
    nothing
  } by = By::not_needed;
  int64_t seeds = 0;  // in all, not in addition; set for By::seeds
};
inline constexpr int64_t kSensibleSeeds = 1000;

// How `first` does against `second`. Differences are first - second, turned so that positive means first is
// the better one.
struct Comparison {
  std::string first, second;
  PairedTest test;
  double holm_ln_p = 0, effect = 0;
  Interval interval;
  Values by_seed;  // each seed's mean difference
  Outcome outcome = Outcome::undecided;
  Settling settling;
};

// The reference against every other method, in their order; Holm over all of them.
std::vector<Comparison> compare_with(std::string_view reference, const std::vector<Method>& methods,
                                     const Rule& rule);
// Every pair once, (i, j) with i < j, row by row; Holm over all of them: for naming the leader, who is chosen
// after looking.
std::vector<Comparison> compare_all(const std::vector<Method>& methods, const Rule& rule);
Comparison turned(Comparison comparison);  // the same pair, seen from the other side
std::string in_words(const Comparison& comparison, const Rule& rule);  // one sentence

// Groups of two or more methods in which every pair is tied, as large as can be. Being tied does not carry
// over, so groups may overlap. Indices into `methods`, ascending.
std::vector<std::vector<size_t>> tied_groups(const std::vector<Method>& methods, const Rule& rule);

// Whether any method gets clearly beyond what needs no learning: the larger of chance and the best constant
// answer. Clearly: its whole interval, widened for the number of methods (Bonferroni), lies above that floor
// by more than the margin and by more than a twentieth of the way from there to perfect. Less can be had
// without solving anything: whoever repeats the commonest symbol of a long prompt beats guessing for certain,
// and by a few points. A task nobody learned says nothing about how methods rank.
bool learned(const std::vector<Method>& methods, double chance, double best_constant, const Rule& rule);

inline constexpr std::string_view kCaveat =
    "Tests over examples treat the trained models as given: they tell whether these models differ on "
    "examples like these, "
    "not whether retraining would give the same order; only agreement between seeds speaks to that, and few "
    "seeds say little.";

}  // namespace darope::stats
