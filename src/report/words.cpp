#include "report/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/fold.h"
#include "report/text.h"
#include "stats/power.h"

namespace darope::report {
namespace {

constexpr int64_t kSmallModel = 100'000'000;  // parameters

bool has_losses(const Summary& summary) {
  return std::any_of(summary.datasets.begin(), summary.datasets.end(),
                     [](const Dataset& d) { return !d.metric.higher_better; });
}

}  // namespace

bool is_small(const Summary& summary) { return summary.parameters > 0 && summary.parameters < kSmallModel; }

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

std::optional<Baseline> best_counting(const Dataset& dataset, double x) {
  std::optional<Baseline> best;
  if (dataset.metric.higher_better) return best;
  for (const auto& [name, places] : dataset.metric.baselines)
    if (const auto found = places.find(x); found != places.end() && !(best && best->loss <= found->second))
      best = {name, found->second};
  return best;
}

std::string best_weights_in_words(const Dataset& dataset, const AtLength& at) {
  std::vector<std::string> texts;
  for (const Cell& cell : at.cells)
    if (cell.best_weights)
      texts.push_back(fmt::format("{} {}", printable(cell.encoding),
                                  score_text(*cell.best_weights, dataset.metric.is_share())));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string no_verdict_in_words(const Summary& summary) {
  if (!summary.overall.empty()) return "";
  std::vector<std::string> everywhere = summary.encodings;
  for (const Dataset& dataset : summary.datasets)
    std::erase_if(everywhere, [&](const std::string& encoding) {
      return std::ranges::find(dataset.missing, encoding) != dataset.missing.end();
    });
  return fmt::format(
      "There is no verdict over all: none of the {} was run with every encoding. {} on each of them; compare "
      "those, or report on fewer folders. Every dataset is judged by itself below.",
      plural(summary.datasets.size(), "dataset"),
      everywhere.empty()
          ? "No encoding was run"
          : fmt::format("Only {} {} run", and_list(everywhere), everywhere.size() == 1 ? "was" : "were"));
}

std::string margin_text(const Metric& metric, double margin) {
  return metric.is_share() ? fmt::format("{:.3g} points of 100", 100 * margin)
                           : fmt::format("{:.3g} nats", margin);
}

std::string rule_in_words(const Summary& summary) {
  std::set<std::string> margins;
  for (const Dataset& dataset : summary.datasets)
    if (!dataset.metric.name.empty()) margins.insert(margin_text(dataset.metric, dataset.margin));
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

std::string terminal_table(const Summary& summary, size_t columns) {
  size_t first = 12;
  for (const Dataset& dataset : summary.datasets) first = std::max(first, dataset.name.size() + 2);
  std::string text;
  const auto say = [&](const std::string& sentence) { text += folded(sentence, columns) + '\n'; };
  for (const std::string& caution : cautions(summary)) say("Note: " + printable(caution));
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
    for (const Dataset& dataset : summary.datasets) {
      if (const std::string counting = baselines_in_words(dataset, x); !counting.empty())
        say(fmt::format("counting alone, on {}: {}", printable(dataset.name), counting));
      const AtLength* at = dataset.at(x);
      if (const std::string best = at ? best_weights_in_words(dataset, *at) : ""; !best.empty())
        say(fmt::format("weights that did best in validation, on {}: {}", printable(dataset.name), best));
    }
    for (const Ranking& ranking : summary.rankings)
      if (ranking.x == x)
        line("mean rank", [&](size_t e) { return fmt::format("{:.1f}", ranking.ranks[e].mean); });
    text += '\n';
  }
  say(units_in_words(summary));
  const bool unlearned = std::any_of(summary.overall.begin(), summary.overall.end(),
                                     [](const Overall& o) { return !o.not_learned.empty(); });
  if (unlearned)
    say("* not learned: no encoding is better than the best constant answer at this length; kept out of "
        "ranks and verdict");
  for (const Overall& overall : summary.overall) say(printable(headline(overall, summary)));
  if (const std::string none = no_verdict_in_words(summary); !none.empty()) say(printable(none));
  return text;
}

}  // namespace darope::report
