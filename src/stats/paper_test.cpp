#include "stats/paper_test.h"

#include <algorithm>

#include "base/error.h"
#include "base/names.h"

namespace darope::stats {
namespace {

void check_input(const std::vector<Method>& methods) {
  if (methods.empty()) throw Error("the paper's test needs at least one method");
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

PaperTest measure(const Method& first, const Method& second, bool higher_better) {
  const Method& minuend = higher_better ? first : second;
  const Method& subtrahend = higher_better ? second : first;
  const Values d = differences(over_seeds(minuend), over_seeds(subtrahend));
  PaperTest result;
  result.first = first.name;
  result.second = second.name;
  result.test = paired_t(d);
  result.effect = effect_size(d);
  result.interval = mean_interval(d);
  for (size_t s = 0; s < first.scores.size(); ++s)
    result.by_seed.push_back(mean(differences(minuend.scores[s], subtrahend.scores[s])));
  return result;
}

}  // namespace

std::vector<PaperTest> paper_test(std::string_view reference, const std::vector<Method>& methods,
                                  bool higher_better) {
  check_input(methods);
  std::vector<std::string> names;
  for (const Method& method : methods) names.push_back(method.name);
  const auto found = std::find(names.begin(), names.end(), reference);
  if (found == names.end()) throw Error(unknown_name("reference", reference, names));
  const Method& first = methods[size_t(found - names.begin())];
  std::vector<PaperTest> tests;
  Values ln_p;
  for (const Method& second : methods) {
    if (&second == &first) continue;
    tests.push_back(measure(first, second, higher_better));
    ln_p.push_back(tests.back().test.ln_p);
  }
  const Values adjusted = holm(ln_p);
  for (size_t i = 0; i < tests.size(); ++i) tests[i].holm_ln_p = adjusted[i];
  return tests;
}

}  // namespace darope::stats
