#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/sections/sections.h"
#include "report/words.h"

namespace darope::report {
namespace {

std::string seeds_ahead(const stats::Comparison& c) {
  size_t ahead = 0;
  for (const double d : c.by_seed) ahead += d > 0;
  return fmt::format("{} of {}", ahead, c.by_seed.size());
}

std::string what_settles(const stats::Comparison& c) {
  using By = stats::Settling::By;
  switch (c.settling.by) {
    case By::not_needed:
      return "";
    case By::seeds:
      return fmt::format("about {} seeds in all", c.settling.seeds);
    case By::unknown_with_one_seed:
      return "one seed cannot say";
    case By::more_seeds_than_sensible:
      return fmt::format("over {} seeds", stats::kSensibleSeeds);
    case By::examples:
      return "more test examples";
    case By::nothing:
      return "seeds contradict";
  }
  return "";
}

std::string comparison_row(const stats::Comparison& c, const Summary& summary, bool higher_better,
                           bool any_open) {
  const size_t encoding = index_of(summary, c.second);
  const auto score = [&](double value) {
    return fmt::format("{}{}", value > 0 ? "+" : "", score_text(value, higher_better));
  };
  const std::string settles = any_open ? fmt::format("<td>{}</td>", what_settles(c)) : "";
  return fmt::format(
      "<tr {}>{}<td>{}</td>{}{}{}{}<td>{}</td>{}</tr>", of_encoding(encoding),
      encoding_cell(summary, encoding), outcome_badge(c.outcome),
      number_cell(score(c.test.mean), c.test.mean),
      number_cell(fmt::format("{} to {}", score(c.interval.low), score(c.interval.high)), c.interval.low),
      number_cell(stats::p_text(c.holm_ln_p), c.holm_ln_p),
      number_cell(fmt::format("{:.2f}", c.effect), c.effect), seeds_ahead(c), settles);
}

std::string reference_table(const Overall& overall, const Summary& summary) {
  if (overall.comparisons.empty())
    return fmt::format("<p>{} cannot be compared here.</p>", escape(summary.reference));
  const bool any_open = std::any_of(overall.comparisons.begin(), overall.comparisons.end(),
                                    [](const auto& c) { return c.outcome == stats::Outcome::undecided; });
  std::string rows,
      head = heading_cell("against") + heading_cell(fmt::format("{} is", escape(summary.reference)));
  for (const char* title : {overall.metric.higher_better ? "difference, points" : "gain, nats",
                            "95 % interval", "Holm p", "effect d<sub>z</sub>", "seeds ahead"})
    head += heading_cell(title);
  if (any_open) head += heading_cell("would settle it");
  for (const stats::Comparison& c : overall.comparisons)
    rows += comparison_row(c, summary, overall.metric.higher_better, any_open);
  return table(head, rows);
}

std::string tied_groups(const Overall& overall) {
  if (overall.tied.empty()) return "";
  std::string items;
  for (const auto& group : overall.tied) items += (items.empty() ? "" : "; ") + and_list(group);
  return fmt::format("<p>Tied, every pair of them: {}.</p>", escape(items));
}

std::string every_comparison(const Summary& summary) {
  std::string items;
  for (const Dataset& dataset : summary.datasets)
    for (const AtLength& at : dataset.lengths)
      for (const stats::Comparison& c : at.comparisons)
        items += fmt::format("<li><b>{}</b> {}{}: {}</li>", escape(dataset.name), length_name(at.x),
                             at.learned ? "" : " (not learned)",
                             escape(stats::in_words(c, {.higher_better = dataset.metric.higher_better,
                                                        .margin = summary.options.margin})));
  return items.empty()
             ? ""
             : fmt::format(
                   "<details><summary>Every dataset's comparison in words</summary><ul>{}</ul></details>",
                   items);
}

// The same news at several lengths is one item: "kept out (1x, 2x): parity".
std::string by_length(const Summary& summary, const char* news, std::vector<std::string> Overall::* names) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>
      lengths;  // in the order of the first
  for (const Overall& o : summary.overall) {
    if ((o.*names).empty()) continue;
    auto found = std::ranges::find(lengths, o.*names, [](const auto& each) { return each.first; });
    if (found == lengths.end()) found = lengths.insert(found, {o.*names, {}});
    found->second.push_back(o.x == 0 ? "test set" : length_name(o.x));
  }
  std::string items;
  for (const auto& [who, where] : lengths)
    items += fmt::format("<li>{} ({}): {}.</li>", news, fmt::join(where, ", "), escape(and_list(who)));
  return items;
}

std::string left_out(const Summary& summary) {
  std::string items = by_length(summary, "Not learned by any encoding, and kept out", &Overall::not_learned) +
                      by_length(summary, "Not compared because of a diverged run", &Overall::diverged);
  for (const std::string& note : summary.notes) items += fmt::format("<li>{}</li>", escape(note));
  return items.empty() ? ""
                       : fmt::format("<h3>Left out, and other notes</h3><ul class='notes'>{}</ul>", items);
}

// The leader's name stands out.
std::string headline_html(const Overall& overall, const Summary& summary) {
  std::string html = escape(headline(overall, summary));
  const std::string leader = escape(overall.leader);
  if (const size_t at = html.find(leader); !leader.empty() && at != std::string::npos)
    html.replace(at, leader.size(), fmt::format("<b>{}</b>", leader));
  return html;
}

std::string length_label(const Overall& overall, const Summary& summary) {
  std::string label = overall.x == 0 ? "test set" : length_name(overall.x);
  for (const Overall& other : summary.overall)
    if (other.x == overall.x && key_of(other.metric) != key_of(overall.metric))
      return label + ", " + metric_name(overall.metric);
  return label;
}

}  // namespace

std::string verdict_section(const Summary& summary, const Gathered&) {
  std::string html = fmt::format("<p class='lead'>{}</p>", escape(setting_in_words(summary)));
  if (const std::string caveat = one_seed_in_words(summary); !caveat.empty())
    html += fmt::format("<p class='lead'>{}</p>", caveat);
  html += "<dl class='answers'>";
  for (const Overall& overall : summary.overall)
    html += fmt::format("<dt>{}</dt><dd>{}</dd>", escape(length_label(overall, summary)),
                        headline_html(overall, summary));
  html += "</dl>";
  if (summary.encodings.size() > 1)
    html += fmt::format("<h3>{} against the others{}</h3>", escape(summary.reference),
                        summary.datasets.size() < 2 ? ""
                        : has_accuracies(summary)   ? ", all learned datasets together"
                                                    : ", all datasets together");
  if (summary.encodings.size() > 1 && has_accuracies(summary))
    html += "<p class='fine'>Points are of chance-normalised accuracy: 0 is guessing, 100 is perfect.</p>";
  for (size_t i = 0; i < summary.lengths.size() && summary.encodings.size() > 1; ++i)
    for (const Overall& overall : summary.overall)
      if (overall.x == summary.lengths[i] && !overall.datasets.empty())
        html += per_length(summary, i, reference_table(overall, summary) + tied_groups(overall));
  html += left_out(summary) + every_comparison(summary);
  return html +
         fmt::format("<p class='fine'>{} {}</p>", escape(rule_in_words(summary)), escape(stats::kCaveat));
}

}  // namespace darope::report
