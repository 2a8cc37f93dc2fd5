#include "report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "report/text.h"

namespace darope::report {
namespace {

constexpr int64_t kSmallModel =
    100'000'000;  // parameters; what holds below has often turned out otherwise above

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::vector<std::string> rivals(const Overall& overall, stats::Outcome outcome) {
  std::vector<std::string> names;
  for (const stats::Comparison& pair : overall.leads)
    if (pair.outcome == outcome) names.push_back(pair.second);
  return names;
}

// What would settle the undecided ones among the leader's comparisons.
std::string settling(const Overall& overall) {
  using By = stats::Settling::By;
  int64_t seeds = 0;
  bool one_seed = false, examples = false, never = false, mixed = false;
  for (const stats::Comparison& pair : overall.leads) {
    seeds = std::max(seeds, pair.settling.seeds);
    const auto [least, greatest] = std::minmax_element(pair.by_seed.begin(), pair.by_seed.end());
    mixed |= pair.settling.seeds > 0 && *least < 0 && *greatest > 0;
    one_seed |= pair.settling.by == By::unknown_with_one_seed;
    examples |= pair.settling.by == By::examples;
    never |= pair.settling.by == By::nothing || pair.settling.by == By::more_seeds_than_sensible;
  }
  if (one_seed) return " One seed cannot tell how many more it would take.";
  if (seeds > 0 && mixed)
    return fmt::format(
        " To tell {} apart would take about {} seeds in all, and seeds that agree on who is ahead, which "
        "these do not.",
        never || examples ? "some of them" : "them", seeds);
  if (seeds > 0)
    return fmt::format(" About {} seeds in all would settle {}.", seeds,
                       never || examples ? "some of that" : "that");
  if (examples) return " More test examples, rather than seeds, would settle that.";
  return never ? " The seeds contradict each other, so more of them may never settle that." : "";
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
                                  [&](const Cell& cell) { return cell.encoding == overall.leader; });
    best += std::none_of(cells.begin(), cells.end(), [&](const Cell& c) {
      return c.mean && (dataset.metric.higher_better ? *c.mean > *own->mean : *c.mean < *own->mean);
    });
  }
  return fmt::format(" This is over {} {}datasets together; one by one, {} has the best mean on {} of them.",
                     overall.datasets.size(), overall.metric.higher_better ? "learned " : "", overall.leader,
                     best);
}

}  // namespace

bool has_accuracies(const Summary& summary) {
  return std::any_of(summary.datasets.begin(), summary.datasets.end(),
                     [](const Dataset& d) { return d.metric.higher_better; });
}

std::string setting_in_words(const Summary& summary) {
  const auto lacks_a_seed = [&](const Dataset& dataset) {
    return std::ranges::any_of(dataset.lengths,
                               [&](const AtLength& at) { return at.seeds.size() < summary.seeds.size(); });
  };
  std::string text = fmt::format("{} on {} with {}{} each", plural(summary.encodings.size(), "encoding"),
                                 plural(summary.datasets.size(), "dataset"),
                                 std::ranges::any_of(summary.datasets, lacks_a_seed) ? "up to " : "",
                                 plural(summary.seeds.size(), "seed"));
  const std::string least = count_text(double(summary.least_parameters)),
                    most = count_text(double(summary.parameters));
  if (summary.parameters > 0)
    text += fmt::format(", models of {} parameters", least == most ? most : least + " to " + most);
  text += ".";
  if (small(summary))
    text +=
        " Everything below holds at this size; a larger model or a longer training can turn the order round.";
  return text;
}

std::string headline(const Overall& overall, const Summary& summary) {
  const std::string where = at_length(overall.x), size = small(summary) ? "At this size, " : "",
                    there = small(summary) ? "At this size there" : "There";
  if (overall.datasets.empty())
    return fmt::format("{} is no verdict {}: no encoding learned {}.", there, where,
                       overall.not_learned.size() == 1 ? "the dataset" : "any of the datasets");
  if (overall.leader.empty())
    return fmt::format("{} is no verdict {}: fewer than two encodings can be compared.", there, where);
  const auto better = rivals(overall, stats::Outcome::better), tied = rivals(overall, stats::Outcome::tied),
             open = rivals(overall, stats::Outcome::undecided);
  const std::string best = best_on(overall, summary);
  if (open.empty() && tied.empty())
    return fmt::format("{}{} is better than {} {}.{}", size, overall.leader, and_list(better), where, best);
  const std::string than =
      better.empty() ? "" : fmt::format("{} better than {}", tied.empty() ? "" : " and", and_list(better));
  const std::string ties = tied.empty() ? "" : fmt::format(" tied with {}", and_list(tied));
  if (open.empty())
    return fmt::format("{}{} leads {},{}{}.{}", size, overall.leader, where, ties, than, best);
  const std::string sure =
      ties.empty() && than.empty() ? "" : fmt::format(" {} is{}{}.", overall.leader, ties, than);
  return fmt::format(
      "{} is no single winner {}: {} has the best mean, but {} may be as good or better.{}{}{}", there, where,
      overall.leader, and_list(open), settling(overall), sure, best);
}

std::string rule_in_words(const Summary& summary) {
  const double margin = summary.options.margin;
  std::string text = fmt::format(
      "Better needs a Holm-adjusted p below 0.05 and the same sign in every seed. Tied needs the whole 95 % "
      "interval of the difference "
      "within {:.3g} ({:.3g} in 100 of accuracy, or nats of loss). Everything else is undecided. Who leads "
      "is judged with Holm over all "
      "pairs; {} against the others with Holm over {}. Groups of ties need every pair to be tied.",
      margin, 100 * margin, summary.reference,
      summary.options.paper_family ? "the paper's four baselines" : "all baselines shown");
  if (has_accuracies(summary))
    text +=
        " A dataset counts as learned at a length where some encoding surely gets a twentieth of the way "
        "from guessing, or from the best "
        "constant answer, to perfect, and farther than the margin; the others are shown, and kept out. Where "
        "datasets are taken together, "
        "accuracies are put on a scale from guessing (0) to perfect (100).";
  if (has_losses(summary))
    text += " Whether anything was learned is not judged of losses, which are taken as they are.";
  return text;
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

std::string one_seed_in_words(const Summary& summary) {
  const bool any = std::any_of(summary.overall.begin(), summary.overall.end(),
                               [](const Overall& o) { return !o.leader.empty() && o.seeds.size() == 1; });
  return any ? "With one seed, a verdict is about these trained models alone: training again with another "
               "seed may turn it round."
             : "";
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
  const auto line = [&](const std::string& name, const auto& value) {
    text += fmt::format("{:<{}}", printable(name), first);
    for (size_t e = 0; e < summary.encodings.size(); ++e)
      text += fmt::format("  {:>{}}", value(e), std::max<size_t>(6, summary.encodings[e].size()));
    text += '\n';
  };
  for (const double x : summary.lengths) {
    line(x == 0 ? "test set" : length_name(x), [&](size_t e) { return printable(summary.encodings[e]); });
    for (const Dataset& dataset : summary.datasets)
      if (const AtLength* at = dataset.at(x))
        line(dataset.name + (at->learned ? "" : " *"), [&](size_t e) {
          const Cell& cell = at->cells[e];
          return cell.diverged.empty() ? score_text(cell.mean, dataset.metric.is_share())
                                       : std::string("div.");
        });
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
        "* not learned: no encoding gets clearly beyond guessing at this length; kept out of ranks and "
        "verdict\n";
  for (const Overall& overall : summary.overall) text += printable(headline(overall, summary)) + '\n';
  if (const std::string caveat = one_seed_in_words(summary); !caveat.empty()) text += caveat + '\n';
  for (const Variants& each : summary.variants) text += printable(options_in_words(each)) + '\n';
  for (const std::string& note : summary.notes) text += "Note: " + printable(note) + '\n';
  return text;
}

}  // namespace darope::report
