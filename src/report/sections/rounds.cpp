#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/sections/sections.h"
#include "stats/judge.h"

namespace darope::report {
namespace {

// Each plan once: datasets of one comparison share it.
std::string plans(const Summary& summary) {
  std::string html;
  std::vector<Settling> told;
  for (const Dataset& dataset : summary.datasets) {
    if (!dataset.settling) continue;
    const Settling& plan = *dataset.settling;
    if (std::ranges::any_of(told, [&](const Settling& each) { return each.same_plan(plan); })) continue;
    told.push_back(plan);
    html += fmt::format(
        "<p>Seeds were added where they decide, in up to {} rounds that were fixed before the first ({} "
        "seeds in "
        "all{}). Each round has an even share of the 5 %, {:.3g} %, and so has every interval on this page. "
        "A "
        "verdict stands from the round that gave it. Each dataset and length is settled by itself.</p>",
        plan.rounds.size(), fmt::join(plan.rounds, ", "),
        plan.until.empty() ? "" : fmt::format("; limit: {}", escape(plan.until)),
        5 / double(plan.rounds.size()));
  }
  return html;
}

std::string decisions(const Look& look) {
  std::vector<std::string> words;
  for (const Decision& each : look.decided) {
    const stats::Verdict verdict = stats::verdict_named(each.verdict);
    const bool turn = stats::is_worse(verdict);
    words.push_back(fmt::format("{} {} {} {}", escape(turn ? each.second : each.first),
                                stats::name_of(turn ? stats::opposite(verdict) : verdict),
                                verdict == stats::Verdict::tied ? "with" : "than",
                                escape(turn ? each.first : each.second)));
  }
  return words.empty() ? "–" : fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string rounds_section(const Summary& summary, const Gathered&) {
  std::string rows, head;
  for (const char* title : {"dataset", "length", "round", "leader", "decided", "still open"})
    head += heading_cell(title);
  for (const Dataset& dataset : summary.datasets) {
    if (!dataset.settling) continue;
    for (const Look& look : dataset.settling->looks)
      rows += fmt::format(
          "<tr><th scope='row'>{}</th><td>{}</td>{}<td>{}</td><td class='words'>{}</td><td>{}</td></tr>",
          escape(dataset.name), escape(place_name(dataset.metric.axis, look.x)),
          number_cell(fmt::to_string(look.round), double(look.round)), escape(look.leader), decisions(look),
          look.learned ? escape(and_list(look.open)) : "not learned");
  }
  const std::string text = plans(summary);
  if (text.empty()) return "";
  return text + (rows.empty() ? "<p>No round is through yet.</p>" : table(head, rows));
}

}  // namespace darope::report
