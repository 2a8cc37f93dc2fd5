#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/text.h"
#include "report/words.h"

namespace darope::report {
namespace {

// Of what nobody learned only this is worth a word: that some runs got more than half way.
bool is_told(const AtLength& at, const Split& split) { return at.learned || split.modes.high_mean > 0.5; }

// What a mean hides, and whose intervals are their own.
void add_unsteady(const Dataset& dataset, const AtLength& at, std::vector<std::string>& out) {
  const std::string where =
      fmt::format("{}{}{}", dataset.name, at.x == 0 ? "" : " ", place_name(dataset.metric.axis, at.x));
  std::vector<Split> told = at.splits;
  std::erase_if(told, [&](const Split& split) { return !is_told(at, split); });
  if (!told.empty()) out.push_back(fmt::format("{}: {}", where, in_words(told)));
  std::vector<std::string> apart = at.judged && at.learned ? at.judged->apart : std::vector<std::string>{};
  for (const Split& split : at.splits) std::erase(apart, split.encoding);
  const bool one = apart.size() == 1;
  if (!apart.empty())
    out.push_back(
        fmt::format("{}: {} {} unsteady: from seed to seed {} scores go their own way, where those of the "
                    "others rise and "
                    "fall together; intervals with {} rest on {} own runs.",
                    where, and_list(apart), one ? "is" : "are", one ? "its" : "their", one ? "it" : "them",
                    one ? "its" : "their"));
}

// Whether sound encodings of a dataset have different seeds.
bool has_unequal_seeds(const Dataset& dataset) {
  return std::ranges::any_of(dataset.lengths, [](const AtLength& at) {
    const auto sound = [](const Cell& c) { return c.mean && c.diverged.empty(); };
    const auto first = std::ranges::find_if(at.cells, sound);
    return std::any_of(first, at.cells.end(),
                       [&](const Cell& c) { return sound(c) && c.seeds != first->seeds; });
  });
}

// What the tables do not show of how much they rest on.
void add_basis(const Dataset& dataset, std::vector<std::string>& out) {
  constexpr size_t kFewSources = 10;
  if (!dataset.lengths.empty())
    if (const size_t clusters = dataset.lengths.front().clusters; clusters > 1 && clusters < kFewSources)
      out.push_back(
          fmt::format("The test of {} comes from {} sources alone: so few hardly tell how others of the kind "
                      "would do, and intervals are the wider for it.",
                      dataset.name, clusters));
  if (has_unequal_seeds(dataset))
    out.push_back(
        fmt::format("On {} encodings have different seeds: tables and pictures have means over all that each "
                    "has, verdicts and their differences are over those that a pair shares.",
                    dataset.name));
}

// The same news at several lengths is one sentence: "kept out (1x, 2x): parity".
void add_by_length(const Summary& summary, const char* news, std::vector<std::string> Overall::* names,
                   std::vector<std::string>& out) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> lengths;  // as they come
  for (const Overall& o : summary.overall) {
    if ((o.*names).empty()) continue;
    auto found = std::ranges::find(lengths, o.*names, [](const auto& each) { return each.first; });
    if (found == lengths.end()) found = lengths.insert(found, {o.*names, {}});
    found->second.push_back(o.x == 0 ? "test set" : place_name(o.metric.axis, o.x));
  }
  for (const auto& [who, where] : lengths)
    out.push_back(fmt::format("{} ({}): {}.", news, fmt::join(where, ", "), and_list(who)));
}

}  // namespace

std::vector<std::string> cautions(const Summary& summary) {
  std::vector<std::string> out;
  if (is_small(summary))
    out.emplace_back(
        "Everything here holds at this size; a larger model or a longer training can turn the order round.");
  if (std::ranges::any_of(summary.overall, [](const Overall& o) { return o.one_seed(); }))
    out.emplace_back(
        "With one seed, what is said is about these trained models alone: training again with another seed "
        "may turn it round.");
  for (const Dataset& dataset : summary.datasets) {
    add_basis(dataset, out);
    for (const AtLength& at : dataset.lengths) add_unsteady(dataset, at, out);
  }
  add_by_length(summary, "Not learned by any encoding, and kept out", &Overall::not_learned, out);
  add_by_length(summary, "Not compared because of a diverged run", &Overall::diverged, out);
  for (const Variants& each : summary.variants) out.push_back(options_in_words(each));
  out.insert(out.end(), summary.notes.begin(), summary.notes.end());
  return out;
}

std::string in_words(const std::vector<Split>& splits) {
  std::map<std::pair<size_t, size_t>, std::vector<std::string>> encodings;  // by runs ahead, and runs
  for (const Split& each : splits)
    encodings[{each.ahead, each.modes.high + each.modes.low}].push_back(each.encoding);
  std::vector<std::string> news;
  for (const auto& [runs, names] : encodings)
    news.push_back(fmt::format("{} of {} runs of {}{} {} far ahead of the rest", runs.first, runs.second,
                               and_list(names), names.size() > 1 ? " each" : "",
                               runs.first > 1 || names.size() > 1 ? "are" : "is"));
  return fmt::format("{}. A mean describes none of these runs.", fmt::join(news, "; "));
}

}  // namespace darope::report
