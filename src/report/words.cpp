#include "report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/text.h"
#include "stats/power.h"

namespace darope::report {
namespace {

constexpr int64_t kSmallModel =
    100'000'000;  // parameters; what holds below has often turned out otherwise above

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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
  using By = stats::Need::By;
  size_t seeds = 0;
  bool out_of_reach = false;
  for (const stats::PairVerdict& pair : leads(overall)) {
    const stats::Need need = stats::need(pair, overall.suite->these_tasks.encodings.size(), overall.margin);
    seeds = std::max(seeds, need.seeds);
    out_of_reach |= need.by == By::out_of_reach;
  }
  if (seeds > 0)
    return fmt::format(" About {} seeds in all would tell {} apart.", seeds,
                       out_of_reach ? "some of them" : "them");
  return out_of_reach
             ? " More seeds alone would not tell them apart: the test examples are too few, or runs vary "
               "too much."
             : "";
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

bool has_losses(const Summary& summary) {
  return std::any_of(summary.datasets.begin(), summary.datasets.end(),
                     [](const Dataset& d) { return !d.metric.higher_better; });
}

bool small(const Summary& summary) { return summary.parameters > 0 && summary.parameters < kSmallModel; }

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

}  // namespace

bool has_accuracies(const Summary& summary) {
  return std::any_of(summary.datasets.begin(), summary.datasets.end(),
                     [](const Dataset& d) { return d.metric.higher_better; });
}

std::string setting_in_words(const Summary& summary) {
  const auto lacks_a_seed = [&](const Dataset& dataset) {
    return std::ranges::any_of(dataset.lengths, [&](const AtLength& at) {
      return std::ranges::any_of(at.cells,
                                 [&](const Cell& c) { return c.seeds.size() < summary.seeds.size(); });
    });
  };
  std::string text = fmt::format("{} on {} with {}{} each", plural(summary.encodings.size(), "encoding"),
                                 plural(summary.datasets.size(), "dataset"),
                                 std::ranges::any_of(summary.datasets, lacks_a_seed) ? "up to " : "",
                                 plural(summary.seeds.size(), "seed"));
  const std::string least = count_text(double(summary.least_parameters)),
                    most = count_text(double(summary.parameters));
  if (summary.parameters > 0)
    text += fmt::format(", models of {} parameters", least == most ? most : least + " to " + most);
  return text + ".";
}

std::string headline(const Overall& overall, const Summary& summary) {
  const std::string where = at_place(overall.metric.axis, overall.x),
                    size = small(summary) ? "At this size, " : "",
                    there = small(summary) ? "At this size there" : "There";
  if (overall.datasets.empty() && !overall.not_learned.empty())
    return fmt::format("{} is no verdict {}: no encoding learned {}.", there, where,
                       overall.not_learned.size() == 1 ? "the dataset" : "any of the datasets");
  const std::string leader = overall.leader();
  if (leader.empty())
    return fmt::format("{} is no verdict {}: fewer than two encodings can be compared.", there, where);
  const auto better = rivals(overall, [](const auto& p) { return p.verdict == Verdict::better; }),
             slightly = rivals(overall, [](const auto& p) { return p.verdict == Verdict::slightly_better; }),
             tied = rivals(overall, [](const auto& p) { return p.verdict == Verdict::tied; }),
             open = rivals(overall, [](const auto& p) { return p.verdict == Verdict::undecided; });
  std::vector<std::string> parts;
  if (!better.empty()) parts.push_back("better than " + and_list(better));
  if (!slightly.empty()) parts.push_back("better than " + and_list(slightly) + " by less than matters");
  if (!tied.empty()) parts.push_back("tied with " + and_list(tied));
  const std::string sure = fmt::format("{}", fmt::join(parts, "; "));
  if (overall.one_seed())
    return fmt::format(
        "One seed says nothing about encodings. Of these models, {}'s has the best score {}{}{}.", leader,
        where, sure.empty() ? "" : ": on examples like these it is ", sure);
  const std::string rest = what_it_hangs_on(overall) + best_on(overall, summary);
  if (open.empty()) return fmt::format("{}{} leads {}: {}.{}", size, leader, where, sure, rest);
  return fmt::format(
      "{} is no single winner {}: {} has the best mean, but {} may be as good or better.{}{}{}", there, where,
      leader, and_list(open), what_it_takes(overall),
      sure.empty() ? "" : fmt::format(" {} is {}.", leader, sure), rest);
}

std::string baselines_in_words(const Dataset& dataset, double x) {
  std::vector<std::pair<double, std::string>> words;
  for (const auto& [name, places] : dataset.metric.baselines)
    if (const auto found = places.find(x); found != places.end())
      words.emplace_back(-found->second,
                         fmt::format("{} {}", printable(name), score_text(found->second, false)));
  std::ranges::sort(words);
  std::vector<std::string> texts;
  for (const auto& [value, text] : words) texts.push_back(text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string margin_text(const Metric& metric, double margin) {
  return metric.is_share() ? fmt::format("{:.3g} points of 100", 100 * margin)
                           : fmt::format("{:.3g} nats", margin);
}

std::string rule_in_words(const Summary& summary) {
  std::set<std::string> margins;
  for (const Overall& overall : summary.overall) margins.insert(margin_text(overall.metric, overall.margin));
  std::string text = fmt::format(
      "For every pair there is one interval of the difference; all of them together hold with 95 % "
      "confidence, "
      "for other seeds and other examples of the kind. If it leaves 0 out, one is better; if it lies within "
      "the "
      "margin ({}), they are tied, or better by less than matters; else the pair is undecided. Chance enters "
      "by "
      "the run and by the example; examples of one source count as one.",
      fmt::join(margins, ", "));
  if (has_accuracies(summary))
    text +=
        " Accuracies are compared on a scale from the best constant answer (0) to perfect (100). A dataset "
        "counts as learned where some encoding is better than that constant answer by this rule; the others "
        "are "
        "shown, and kept out. Every dataset has the same weight.";
  if (has_losses(summary))
    text += " Whether anything was learned is not judged of losses, which are taken as they are.";
  return text;
}

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
        fmt::format("{}: the runs of {} go with the others' from seed to seed much less; intervals with {} "
                    "rest on {} own runs.",
                    where, and_list(apart), one ? "it" : "them", one ? "its" : "their"));
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
  if (small(summary))
    out.emplace_back(
        "Everything here holds at this size; a larger model or a longer training can turn the order round.");
  if (std::ranges::any_of(summary.overall, [](const Overall& o) { return o.one_seed(); }))
    out.emplace_back(
        "With one seed, what is said is about these trained models alone: training again with another seed "
        "may turn it round.");
  for (const Dataset& dataset : summary.datasets)
    for (const AtLength& at : dataset.lengths) add_unsteady(dataset, at, out);
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

std::string in_words(const stats::Need& need) {
  switch (need.by) {
    case stats::Need::By::nothing:
      return "";
    case stats::Need::By::seeds:
      return fmt::format("about {} seeds in all", need.seeds);
    case stats::Need::By::unknown_with_one_seed:
      return "one seed cannot say";
    case stats::Need::By::out_of_reach:
      return "out of reach of seeds";
  }
  return "";
}

std::string units_in_words(const Summary& summary) {
  std::map<ScoreKey, Metric> metrics;
  for (const Dataset& dataset : summary.datasets) metrics.emplace(key_of(dataset.metric), dataset.metric);
  std::vector<std::string> units;
  for (const auto& [key, metric] : metrics) {
    if (metric.name.empty()) continue;  // of a dataset on which every run diverged
    const std::string unit = metric.is_share() ? "%, not chance-normalised" : metric.unit;
    units.push_back(
        fmt::format("{} in {}{}", metric.title, unit, metric.higher_better ? "" : ", lower is better"));
  }
  return fmt::format("{}", fmt::join(units, "; "));
}

std::string options_in_words(const Variants& variants) {
  std::map<std::string, std::vector<std::string>> datasets;  // by what was typed
  for (const auto& [dataset, typed] : variants.by_dataset) datasets[typed].push_back(dataset);
  std::vector<std::string> parts;
  for (const auto& [typed, where] : datasets) {
    const std::string with =
        typed == variants.encoding ? "without options" : "with " + typed.substr(variants.encoding.size() + 1);
    parts.push_back(fmt::format("{} on {}", with, and_list(where)));
  }
  return fmt::format("{} was run {}.", variants.encoding, fmt::join(parts, ", "));
}

std::string terminal_table(const Summary& summary) {
  size_t first = 12;
  for (const Dataset& dataset : summary.datasets) first = std::max(first, dataset.name.size() + 2);
  std::string text;
  for (const std::string& caution : cautions(summary)) text += "Note: " + printable(caution) + '\n';
  if (!text.empty()) text += '\n';
  const auto line = [&](const std::string& name, const auto& value) {
    text += fmt::format("{:<{}}", printable(name), first);
    for (size_t e = 0; e < summary.encodings.size(); ++e)
      text += fmt::format("  {:>{}}", value(e), std::max<size_t>(6, summary.encodings[e].size()));
    text += '\n';
  };
  for (const double x : summary.lengths) {
    line(x == 0 ? "test set" : place_name(summary.axis(), x),
         [&](size_t e) { return printable(summary.encodings[e]); });
    for (const Dataset& dataset : summary.datasets)
      if (const AtLength* at = dataset.at(x))
        line(dataset.name + (at->learned ? "" : " *"), [&](size_t e) {
          const Cell& cell = at->cells[e];
          return cell.diverged.empty() ? score_text(cell.mean, dataset.metric.is_share())
                                       : std::string("div.");
        });
    for (const Dataset& dataset : summary.datasets)
      if (const std::string counting = baselines_in_words(dataset, x); !counting.empty())
        text += fmt::format("counting alone, on {}: {}\n", printable(dataset.name), counting);
    for (const Ranking& ranking : summary.rankings)
      if (ranking.x == x)
        line("mean rank", [&](size_t e) { return fmt::format("{:.1f}", ranking.ranks[e].mean); });
    text += '\n';
  }
  text += units_in_words(summary) + '\n';
  const bool unlearned = std::any_of(summary.overall.begin(), summary.overall.end(),
                                     [](const Overall& o) { return !o.not_learned.empty(); });
  if (unlearned)
    text +=
        "* not learned: no encoding is better than the best constant answer at this length; kept out of "
        "ranks "
        "and verdict\n";
  for (const Overall& overall : summary.overall) text += printable(headline(overall, summary)) + '\n';
  return text;
}

}  // namespace darope::report
