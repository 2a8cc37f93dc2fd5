#include "stats/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "base/error.h"
#include "base/names.h"

namespace darope::stats {
namespace {

void check_input(const std::vector<Method>& methods, const Rule& rule) {
  if (!(rule.margin >= 0 && std::isfinite(rule.margin)))
    throw Error("the tie margin is " + std::to_string(rule.margin) + ": it must be at least 0");
  if (methods.empty()) throw Error("a verdict needs at least one method");
  const auto shape = [](const Method& m) {
    return m.name + " has " + std::to_string(m.scores.size()) + " seeds of " +
           std::to_string(m.scores.front().size()) + " examples";
  };
  const Method& model = methods.front();
  for (const Method& method : methods) {
    check(method.scores, 1, 3, "a row of scores of " + method.name);
    if (method.scores.size() != model.scores.size() ||
        method.scores.front().size() != model.scores.front().size())
      throw Error(shape(model) + " and " + shape(method) +
                  ": only the same examples and seeds can be paired");
  }
}

Values over_seeds(const Method& method) {
  Values average(method.scores.front().size());
  for (const Values& seed : method.scores)
    for (size_t i = 0; i < average.size(); ++i) average[i] += seed[i] / double(method.scores.size());
  return average;
}

constexpr double kLearnedShare = 0.05;  // of the way from what needs no learning to perfect

bool tied(const Comparison& c, double margin) {
  return std::max(std::abs(c.interval.low), std::abs(c.interval.high)) <= margin;
}

bool significant(const Comparison& c) { return c.holm_ln_p < std::log(kAlpha); }

// Everything about a pair but what Holm decides.
Comparison measure(const Method& first, const Method& second, const Rule& rule) {
  const Method& minuend = rule.higher_better ? first : second;
  const Method& subtrahend = rule.higher_better ? second : first;
  const Values d = differences(over_seeds(minuend), over_seeds(subtrahend));
  Comparison c;
  c.first = first.name;
  c.second = second.name;
  c.test = paired_t(d);
  c.effect = effect_size(d);
  c.interval = mean_interval(d, 1 - kAlpha);
  for (size_t s = 0; s < first.scores.size(); ++s)
    c.by_seed.push_back(mean(differences(minuend.scores[s], subtrahend.scores[s])));
  return c;
}

Outcome decide(const Comparison& c, const Rule& rule) {
  if (tied(c, rule.margin)) return Outcome::tied;
  const auto every_seed = [&](auto&& test) { return std::all_of(c.by_seed.begin(), c.by_seed.end(), test); };
  if (!significant(c)) return Outcome::undecided;
  if (every_seed([](double d) { return d > 0; })) return Outcome::better;
  if (every_seed([](double d) { return d < 0; })) return Outcome::worse;
  return Outcome::undecided;
}

Settling what_would_settle(const Comparison& c, const Rule& rule) {
  if (c.by_seed.size() < 2) return {Settling::By::unknown_with_one_seed, 0};
  const double size = std::abs(mean(c.by_seed)), spread = sd(c.by_seed);
  for (int64_t seeds = 2; seeds <= kSensibleSeeds; ++seeds) {
    const double half = t_quantile(1 - kAlpha, double(seeds - 1)) * spread / std::sqrt(double(seeds));
    if (half >= size && half > rule.margin - size) continue;
    if (seeds > int64_t(c.by_seed.size())) return {Settling::By::seeds, seeds};
    return {significant(c) ? Settling::By::nothing : Settling::By::examples, 0};
  }
  return {Settling::By::more_seeds_than_sensible, 0};
}

void decide_all(std::vector<Comparison>& all, const Rule& rule) {
  Values ln_p;
  for (const Comparison& c : all) ln_p.push_back(c.test.ln_p);
  const Values adjusted = holm(ln_p);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].holm_ln_p = adjusted[i];
    all[i].outcome = decide(all[i], rule);
    if (all[i].outcome == Outcome::undecided) all[i].settling = what_would_settle(all[i], rule);
  }
}

// Bron and Kerbosch: every maximal clique of the graph of ties.
void cliques(const std::vector<std::vector<bool>>& linked, const std::vector<size_t>& chosen,
             std::vector<size_t> open, std::vector<size_t> done, std::vector<std::vector<size_t>>& found) {
  if (open.empty() && done.empty() && chosen.size() > 1) found.push_back(chosen);
  while (!open.empty()) {
    const size_t next = open.front();
    const auto neighbours = [&](const std::vector<size_t>& of) {
      std::vector<size_t> kept;
      std::copy_if(of.begin(), of.end(), std::back_inserter(kept),
                   [&](size_t other) { return linked[next][other]; });
      return kept;
    };
    std::vector<size_t> grown = chosen;
    grown.push_back(next);
    cliques(linked, grown, neighbours(open), neighbours(done), found);
    open.erase(open.begin());
    done.push_back(next);
  }
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string settling_words(const Comparison& c) {
  const auto [least, greatest] = std::minmax_element(c.by_seed.begin(), c.by_seed.end());
  const std::string mixed =
      *least < 0 && *greatest > 0 ? ", though with seeds that disagree in sign neither is called better" : "";
  switch (c.settling.by) {
    case Settling::By::not_needed:
      break;
    case Settling::By::seeds:
      return "about " + std::to_string(c.settling.seeds) + " seeds in all would settle the mean difference" +
             mixed;
    case Settling::By::unknown_with_one_seed:
      return "one seed shows no spread, so how many would settle it cannot be said";
    case Settling::By::more_seeds_than_sensible:
      return "it would take more than " + std::to_string(kSensibleSeeds) + " seeds to settle it";
    case Settling::By::examples:
      return "the seeds agree well enough, so more test examples rather than seeds would settle it";
    case Settling::By::nothing:
      return "a seed contradicts the others, which more seeds cannot undo";
  }
  return "";
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::better:
      return "better";
    case Outcome::worse:
      return "worse";
    case Outcome::tied:
      return "tied";
    case Outcome::undecided:
      return "undecided";
  }
  return "";
}

std::vector<Comparison> compare_with(std::string_view reference, const std::vector<Method>& methods,
                                     const Rule& rule) {
  check_input(methods, rule);
  const auto chosen =
      std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == reference; });
  if (chosen == methods.end()) {
    std::vector<std::string> known;
    for (const Method& method : methods) known.push_back(method.name);
    throw Error(unknown_name("reference", reference, known));
  }
  std::vector<Comparison> all;
  for (auto method = methods.begin(); method != methods.end(); ++method)
    if (method != chosen) all.push_back(measure(*chosen, *method, rule));
  decide_all(all, rule);
  return all;
}

std::vector<Comparison> compare_all(const std::vector<Method>& methods, const Rule& rule) {
  check_input(methods, rule);
  std::vector<Comparison> all;
  for (size_t i = 0; i < methods.size(); ++i)
    for (size_t j = i + 1; j < methods.size(); ++j) all.push_back(measure(methods[i], methods[j], rule));
  decide_all(all, rule);
  return all;
}

Comparison turned(Comparison c) {
  std::swap(c.first, c.second);
  c.test.mean = -c.test.mean;
  c.test.t = -c.test.t;
  c.effect = -c.effect;
  c.interval = {-c.interval.high, -c.interval.low};
  for (double& d : c.by_seed) d = -d;
  if (c.outcome == Outcome::better)
    c.outcome = Outcome::worse;
  else if (c.outcome == Outcome::worse)
    c.outcome = Outcome::better;
  return c;
}

std::string in_words(const Comparison& c, const Rule& rule) {
  const auto ahead = std::count_if(c.by_seed.begin(), c.by_seed.end(), [](double d) { return d > 0; });
  const std::string seeds = std::to_string(ahead) + " of " + std::to_string(c.by_seed.size()) + " seeds";
  const std::string facts = number(c.test.mean) + ", 95 % interval " + number(c.interval.low) + " to " +
                            number(c.interval.high) + ", Holm p = " + p_text(c.holm_ln_p) + ", ahead in " +
                            seeds;
  switch (c.outcome) {
    case Outcome::better:
    case Outcome::worse:
      return c.first + " is " + std::string(name_of(c.outcome)) + " than " + c.second + " (difference " +
             facts + ").";
    case Outcome::tied:
      return c.first + " and " + c.second + " are tied within " + number(rule.margin) + " (difference " +
             facts + ").";
    case Outcome::undecided:
      return c.first + " against " + c.second + " is undecided (difference " + facts + "); " +
             settling_words(c) + ".";
  }
  return "";
}

std::vector<std::vector<size_t>> tied_groups(const std::vector<Method>& methods, const Rule& rule) {
  check_input(methods, rule);
  std::vector<std::vector<bool>> linked(methods.size(), std::vector<bool>(methods.size()));
  std::vector<size_t> everyone;
  for (size_t i = 0; i < methods.size(); ++i) {
    everyone.push_back(i);
    for (size_t j = 0; j < i; ++j)
      linked[i][j] = linked[j][i] = tied(measure(methods[i], methods[j], rule), rule.margin);
  }
  std::vector<std::vector<size_t>> found;
  cliques(linked, {}, everyone, {}, found);
  return found;
}

bool learned(const std::vector<Method>& methods, double chance, double best_constant, const Rule& rule) {
  check_input(methods, rule);
  if (!rule.higher_better)
    throw Error("whether a task was learned is asked of accuracies, where higher is better");
  const double floor = std::max(chance, best_constant), confidence = 1 - kAlpha / double(methods.size());
  const double least = std::max(rule.margin, kLearnedShare * (1 - floor));
  return std::any_of(methods.begin(), methods.end(), [&](const Method& method) {
    return mean_interval(over_seeds(method), confidence).low > floor + least;
  });
}

}  // namespace darope::stats
