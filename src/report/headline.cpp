#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/power.h"
#include "report/text.h"
#include "report/words.h"

namespace darope::report {
namespace {

using stats::Verdict;

// The leader against each other one.
std::vector<stats::PairVerdict> leads(const Overall& overall) {
  const stats::Judged& judged = overall.suite->these_tasks;
  std::vector<stats::PairVerdict> pairs;
  for (size_t e = 0; e < judged.encodings.size(); ++e)
    if (e != *judged.leader) pairs.push_back(judged.pair(*judged.leader, e));
  return pairs;
}

template <class Keep>
std::vector<std::string> rivals(const Overall& overall, const Keep& keep) {
  std::vector<std::string> names;
  for (const stats::PairVerdict& pair : leads(overall))
    if (keep(pair)) names.push_back(overall.suite->these_tasks.encodings[pair.second]);
  return names;
}

// What would decide the open ones among the leader's pairs.
std::string what_it_takes(const Overall& overall) {
  size_t seeds = 0;
  std::vector<stats::PairVerdict> out_of_reach;
  for (const stats::PairVerdict& pair : leads(overall)) {
    const stats::Need need = stats::need(pair, overall.suite->these_tasks.encodings.size(), overall.margin);
    seeds = std::max(seeds, need.seeds);
    if (need.by == stats::Need::By::out_of_reach) out_of_reach.push_back(pair);
  }
  if (seeds > 0)
    return fmt::format(" About {} seeds in all would tell {} apart.", seeds,
                       out_of_reach.empty() ? "them" : "some of them");
  return out_of_reach.empty() ? ""
                              : fmt::format(" More seeds alone would not tell them apart: {}.",
                                            and_list(limits_of_seeds(out_of_reach)));
}

struct Decided {
  std::vector<std::string> better, slightly, tied;
};
Decided decided_of(const stats::Judged& judged, size_t encoding) {
  Decided found;
  for (size_t other = 0; other < judged.encodings.size(); ++other) {
    if (other == encoding) continue;
    const Verdict verdict = judged.pair(encoding, other).verdict;
    if (verdict == Verdict::better) found.better.push_back(judged.encodings[other]);
    if (verdict == Verdict::slightly_better) found.slightly.push_back(judged.encodings[other]);
    if (verdict == Verdict::tied) found.tied.push_back(judged.encodings[other]);
  }
  return found;
}

// "better than nope; better than rope by less than matters"
std::string better_in_words(const Decided& decided) {
  std::vector<std::string> parts;
  if (!decided.better.empty()) parts.push_back("better than " + and_list(decided.better));
  if (!decided.slightly.empty())
    parts.push_back("better than " + and_list(decided.slightly) + " by less than matters");
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string in_words(const Decided& decided) {
  const std::string better = better_in_words(decided),
                    tied = decided.tied.empty() ? "" : "tied with " + and_list(decided.tied);
  return better + (better.empty() || tied.empty() ? "" : "; ") + tied;
}

// "rope and darope are better than nope; rope is tied with hope": what is decided of the leader and of all
// that it is not better than.
std::string decided_in_front(const Overall& overall) {
  const stats::Judged& judged = overall.suite->these_tasks;
  std::vector<std::pair<std::string, std::vector<std::string>>> said;  // of whom, as they stand
  for (const Standing& each : overall.standings) {
    const auto e = size_t(std::ranges::find(judged.encodings, each.encoding) - judged.encodings.begin());
    if (e != *judged.leader && judged.pair(*judged.leader, e).verdict == Verdict::better) continue;
    const std::string better = better_in_words(decided_of(judged, e));
    if (better.empty()) continue;
    auto same = std::ranges::find(said, better, [](const auto& words) { return words.first; });
    if (same == said.end()) same = said.insert(same, {better, {}});
    same->second.push_back(each.encoding);
  }
  std::vector<std::string> parts;
  for (const auto& [better, names] : said)
    parts.push_back(fmt::format("{} {} {}", and_list(names), names.size() == 1 ? "is" : "are", better));
  if (const Decided leader = decided_of(judged, *judged.leader); !leader.tied.empty())
    parts.push_back(fmt::format("{} is tied with {}", overall.leader(), and_list(leader.tied)));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The dataset without which most of the leader's verdicts fall, and what other datasets of the kind might
// turn.
std::string what_it_hangs_on(const Overall& overall) {
  const std::vector<std::string>& names = overall.suite->these_tasks.encodings;
  std::map<std::string, std::vector<std::string>> hanging;  // rivals by dataset
  std::vector<std::string> of_these_only;
  for (const stats::PairVerdict& pair : leads(overall)) {
    for (const std::string& task : overall.suite->hangs_on(pair.first, pair.second))
      hanging[task].push_back(names[pair.second]);
    const auto& others = overall.suite->tasks_like_these;
    if (stats::is_better(pair.verdict) && others &&
        !stats::is_better(others->pair(pair.first, pair.second).verdict))
      of_these_only.push_back(names[pair.second]);
  }
  std::string text;
  const auto most =
      std::ranges::max_element(hanging, {}, [](const auto& each) { return each.second.size(); });
  if (most != hanging.end())
    text +=
        fmt::format(" Without {}, the verdict on {} would be another.", most->first, and_list(most->second));
  if (!of_these_only.empty())
    text += fmt::format(" Its lead over {} is one on these datasets; for others of the kind it is open.",
                        of_these_only.size() + 1 == names.size() ? "the others" : and_list(of_these_only));
  return text;
}

// What the verdict rests on: one dataset of several, or a mean over datasets, which can hide that they
// disagree, so that the leader's own wins stand beside it.
std::string best_on(const Overall& overall, const Summary& summary) {
  if (overall.datasets.size() == 1 && !overall.not_learned.empty())
    return fmt::format(" This is on {} alone, the only dataset learned there.", overall.datasets.front());
  if (overall.datasets.size() < 2) return "";
  size_t best = 0;
  for (const Dataset& dataset : summary.datasets) {
    if (std::find(overall.datasets.begin(), overall.datasets.end(), dataset.name) == overall.datasets.end())
      continue;
    const std::vector<Cell>& cells = dataset.at(overall.x)->cells;
    const auto own = std::find_if(cells.begin(), cells.end(),
                                  [&](const Cell& cell) { return cell.encoding == overall.leader(); });
    best += std::none_of(cells.begin(), cells.end(), [&](const Cell& c) {
      return c.mean && (dataset.metric.higher_better ? *c.mean > *own->mean : *c.mean < *own->mean);
    });
  }
  return fmt::format(" This is over {} {}datasets together; one by one, {} has the best mean on {} of them.",
                     overall.datasets.size(), overall.metric.higher_better ? "learned " : "",
                     overall.leader(), best);
}

// Datasets on which counting alone does better than every model; of losses.
struct Counted {
  std::vector<std::string> datasets, best;  // "bigram 2.3103"
};
Counted better_counted(const Overall& overall, const Summary& summary) {
  Counted found;
  for (const Dataset& dataset : summary.datasets) {
    if (std::ranges::find(overall.datasets, dataset.name) == overall.datasets.end()) continue;
    const std::optional<Baseline> best = best_counting(dataset, overall.x);
    const std::vector<Cell>& cells = dataset.at(overall.x)->cells;
    if (!best || std::ranges::any_of(cells, [&](const Cell& c) { return c.mean && *c.mean < best->loss; }))
      continue;
    found.datasets.push_back(dataset.name);
    found.best.push_back(fmt::format("{} {}", printable(best->name), score_text(best->loss, false)));
  }
  return found;
}

// Where the means that are shown, each over all its seeds, have another first: the leader's is over those
// that pairs share.
std::string over_which_seeds(const Overall& overall) {
  return overall.standings.front().encoding == overall.leader() ? "" : " over the seeds that they share";
}

// Who is in front at a place, as a clause that others may stand before.
std::string who_leads(const Overall& overall, const std::string& where) {
  const stats::Judged& judged = overall.suite->these_tasks;
  const std::string leader = overall.leader(), there = where.empty() ? "" : " " + where;
  const auto open = rivals(overall, [](const auto& p) { return p.verdict == Verdict::undecided; });
  if (open.empty())
    return fmt::format("{} leads{}: {}.", leader, there, in_words(decided_of(judged, *judged.leader)));
  const std::string decided = decided_in_front(overall),
                    best = fmt::format("{} has the best mean{}, but {} may be as good or better.", leader,
                                       over_which_seeds(overall), and_list(open));
  if (decided.empty()) return fmt::format("no encoding is told from another{}: {}", there, best);
  return fmt::format("{}{}. {}", decided, there, best);
}

// Of models that all do worse than counting no winner is called, and seeds are not what they lack.
std::string none_beyond_counting(const Overall& overall, const Counted& counted, const std::string& there,
                                 const std::string& where) {
  return fmt::format(
      "{} is no winner {}: counting alone ({}) does better than every model. More steps or a larger model "
      "come "
      "before more seeds. Of these models, {}",
      there, where, fmt::join(counted.best, ", "), who_leads(overall, ""));
}

}  // namespace

std::string headline(const Overall& overall, const Summary& summary) {
  const std::string where = at_place(overall.metric.axis, overall.x),
                    size = is_small(summary) ? "At this size, " : "",
                    there = is_small(summary) ? "At this size there" : "There";
  if (overall.datasets.empty() && !overall.not_learned.empty())
    return fmt::format("{} is no verdict {}: no encoding learned {}.", there, where,
                       overall.not_learned.size() == 1 ? "the dataset" : "any of the datasets");
  const std::string leader = overall.leader();
  if (leader.empty())
    return fmt::format("{} is no verdict {}: fewer than two encodings can be compared.", there, where);
  const Counted counted = better_counted(overall, summary);
  const bool all = counted.datasets.size() == overall.datasets.size();
  const std::string beaten =
      counted.datasets.empty()
          ? ""
          : fmt::format(" On {}, counting alone does better than every model.", and_list(counted.datasets));
  if (overall.one_seed()) {
    const stats::Judged& judged = overall.suite->these_tasks;
    const std::string decided = in_words(decided_of(judged, *judged.leader));
    return fmt::format(
        "One seed says nothing about encodings. Of these models, {}'s has the best score {}{}{}.{}", leader,
        where, decided.empty() ? "" : ": on examples like these it is ", decided, beaten);
  }
  const std::string rest = what_it_hangs_on(overall) + best_on(overall, summary);
  if (all) return none_beyond_counting(overall, counted, there, where) + rest;
  std::string text = size + who_leads(overall, where);
  if (text.starts_with("no encoding ")) text.front() = 'N';
  return text + what_it_takes(overall) + beaten + rest;
}

}  // namespace darope::report
