#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace darope::report {
namespace {

constexpr int64_t kSmallModel = 100'000'000;   // parameters; what holds below has often turned out otherwise above

std::string plural(size_t count, const char* noun) { return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s"); }

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
  bool one_seed = false, examples = false, never = false;
  for (const stats::Comparison& pair : overall.leads) {
    seeds = std::max(seeds, pair.settling.seeds);
    one_seed |= pair.settling.by == By::unknown_with_one_seed;
    examples |= pair.settling.by == By::examples;
    never |= pair.settling.by == By::nothing || pair.settling.by == By::more_seeds_than_sensible;
  }
  if (one_seed) return " One seed cannot tell how many more it would take.";
  if (seeds > 0) return fmt::format(" About {} seeds in all would settle {}.", seeds, never || examples ? "some of that" : "that");
  if (examples) return " More test examples, rather than seeds, would settle that.";
  return never ? " The seeds contradict each other, so more of them may never settle that." : "";
}

}  // namespace

std::string setting_in_words(const Summary& summary) {
  std::string text = fmt::format("{} on {} with {} each", plural(summary.encodings.size(), "encoding"), plural(summary.datasets.size(), "dataset"),
                                 plural(summary.seeds.size(), "seed"));
  if (summary.parameters > 0) text += fmt::format(", models of {} parameters", count_text(double(summary.parameters)));
  text += ".";
  if (summary.parameters > 0 && summary.parameters < kSmallModel)
    text += " Everything below holds at this size; a larger model or a longer training can turn the order round.";
  return text;
}

std::string headline(const Overall& overall, const Summary& summary) {
  const std::string where = at_length(overall.x), size = summary.parameters > 0 && summary.parameters < kSmallModel ? " at this size" : "";
  if (overall.datasets.empty())
    return fmt::format("No verdict {}: none of the {} was learned by any encoding{}.", where, plural(overall.not_learned.size(), "dataset"), size);
  if (overall.leader.empty()) return fmt::format("No verdict {}: fewer than two encodings can be compared.", where);
  const std::string on = overall.datasets.size() == 1 ? overall.datasets.front() : fmt::format("the {} learned datasets together", overall.datasets.size());
  const auto better = rivals(overall, stats::Outcome::better), tied = rivals(overall, stats::Outcome::tied), open = rivals(overall, stats::Outcome::undecided);
  const std::string than = better.empty() ? "" : fmt::format(" It is better than {}.", and_list(better));
  if (open.empty() && tied.empty()) return fmt::format("{} is the best choice{} {} on {}: better than {}.", overall.leader, size, where, on, and_list(better));
  const std::string ties = tied.empty() ? "" : fmt::format(" It is tied with {}.", and_list(tied));
  if (open.empty()) return fmt::format("{} leads{} {} on {}.{}{}", overall.leader, size, where, on, ties, than);
  return fmt::format("No single winner{} {} on {}: {} has the best mean, but {} may be as good or better.{}{}{}", size, where, on, overall.leader,
                     and_list(open), settling(overall), ties, than);
}

std::string rule_in_words(const Summary& summary) {
  const double margin = summary.options.margin;
  return fmt::format(
      "Better needs a Holm-adjusted p below 0.05 and the same sign in every seed. Tied needs the whole 95 % interval of the difference, and every "
      "seed's own difference, within {:.3g} ({:.3g} points of accuracy, or {:.3g} nats). Everything else is undecided. Who leads is judged with Holm "
      "over all pairs; {} against the others with Holm over {}. Groups of ties need every pair to be tied.",
      margin, 100 * margin, margin, summary.reference, summary.options.paper_family ? "the paper's four baselines" : "all baselines shown");
}

std::string terminal_table(const Summary& summary) {
  size_t first = 10;
  for (const Dataset& dataset : summary.datasets) first = std::max(first, dataset.name.size());
  std::string text;
  const auto line = [&](const std::string& name, const auto& value) {
    text += fmt::format("{:<{}}", printable(name), first);
    for (size_t e = 0; e < summary.encodings.size(); ++e) text += fmt::format("  {:>{}}", value(e), std::max<size_t>(6, summary.encodings[e].size()));
    text += '\n';
  };
  for (const double x : summary.lengths) {
    line(x == 0 ? "test set" : length_name(x), [&](size_t e) { return printable(summary.encodings[e]); });
    for (const Dataset& dataset : summary.datasets)
      if (const AtLength* at = dataset.at(x))
        line(dataset.name + (at->learned ? "" : " *"), [&](size_t e) {
          const Cell& cell = at->cells[e];
          return cell.diverged.empty() ? score_text(cell.mean, dataset.higher_better) : std::string("div.");
        });
    for (const Ranking& ranking : summary.rankings)
      if (ranking.x == x) line("mean rank", [&](size_t e) { return fmt::format("{:.1f}", ranking.ranks[e].mean); });
    text += '\n';
  }
  const bool unlearned = std::any_of(summary.overall.begin(), summary.overall.end(), [](const Overall& o) { return !o.not_learned.empty(); });
  if (unlearned) text += "* not learned by any encoding, kept out of ranks and verdict\n";
  for (const Overall& overall : summary.overall) text += printable(headline(overall, summary)) + '\n';
  for (const std::string& note : summary.notes) text += "Note: " + printable(note) + '\n';
  return text;
}

}  // namespace darope::report
