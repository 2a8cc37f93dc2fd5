#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/picture.h"
#include "report/sections/sections.h"
#include "report/words.h"
#include "stats/power.h"

namespace darope::report {
namespace {

std::string interval_text(const stats::PairVerdict& pair, bool share) {
  return fmt::format("{} to {}", difference_text(pair.interval.low, share),
                     difference_text(pair.interval.high, share));
}

// Which tasks a verdict hangs on.
std::string without_any(const stats::SuiteVerdict& suite, const stats::PairVerdict& pair) {
  if (pair.verdict == stats::Verdict::undecided) return "–";
  const std::vector<std::string> tasks = suite.hangs_on(pair.first, pair.second);
  return tasks.empty() ? "stands" : "not without " + escape(and_list(tasks));
}

// Every pair once more as a square: the row's encoding against the column's.
std::string pair_matrix(const Overall& overall, const Summary& summary) {
  const stats::Judged& judged = overall.suite->these_tasks;
  const bool share = overall.metric.is_share();
  std::string head = heading_cell("against"), rows;
  const auto place = [&](const std::string& name) {
    return size_t(std::ranges::find(judged.encodings, name) - judged.encodings.begin());
  };
  for (const Standing& column : overall.standings)
    head += heading_cell(escape(column.encoding), of_encoding(index_of(summary, column.encoding)));
  for (const Standing& row : overall.standings) {
    const size_t e = index_of(summary, row.encoding);
    rows += fmt::format("<tr {}>{}", of_encoding(e), encoding_cell(summary, e));
    for (const Standing& column : overall.standings) {
      const std::string attribute = of_encoding(index_of(summary, column.encoding));
      if (&row == &column) {
        rows += fmt::format("<td {}></td>", attribute);
        continue;
      }
      const stats::PairVerdict pair = judged.pair(place(row.encoding), place(column.encoding));
      const std::string rests =
          overall.suite->hangs_on(pair.first, pair.second).empty()
              ? ""
              : fmt::format("<small class='rests'>{}</small>", without_any(*overall.suite, pair));
      const std::string kind = stats::is_better(pair.verdict)  ? "better"
                               : stats::is_worse(pair.verdict) ? "worse"
                                                               : std::string(stats::name_of(pair.verdict));
      rows += number_cell(pair.seeds == 0 ? "<small>no seed in common</small>"
                                          : fmt::format("{} {}<small>{}</small>{}", sign_of(pair.verdict),
                                                        difference_text(pair.difference, share),
                                                        interval_text(pair, share), rests),
                          pair.difference, fmt::format("{} class='{}'", attribute, kind));
    }
    rows += "</tr>";
  }
  return table(head, rows, "pairs");
}

std::string leader_row(const Overall& overall, const Summary& summary, const stats::PairVerdict& pair) {
  const stats::SuiteVerdict& suite = *overall.suite;
  const bool share = overall.metric.is_share();
  const size_t e = index_of(summary, suite.these_tasks.encodings[pair.second]);
  std::string row = fmt::format("<tr {}>{}<td>{}</td>", of_encoding(e), encoding_cell(summary, e),
                                verdict_badge(pair.verdict)) +
                    number_cell(fmt::format("{}<small>{}</small>", difference_text(pair.difference, share),
                                            interval_text(pair, share)),
                                pair.difference);
  if (!suite.without.empty()) {
    row += fmt::format("<td>{}</td>", without_any(suite, pair));
    if (suite.tasks_like_these) {
      const stats::PairVerdict other = suite.tasks_like_these->pair(pair.first, pair.second);
      row += number_cell(fmt::format("{} {}", sign_of(other.verdict), interval_text(other, share)),
                         other.interval.low);
    }
  }
  row += number_cell(difference_text(stats::detectable(pair), share).substr(1), stats::detectable(pair));
  return row + fmt::format("<td>{}</td></tr>",
                           in_words(stats::need(pair, suite.these_tasks.encodings.size(), overall.margin)));
}

// The leader against the others: what its place rests on.
std::string leader_table(const Overall& overall, const Summary& summary) {
  const stats::SuiteVerdict& suite = *overall.suite;
  const size_t leader = *suite.these_tasks.leader;
  const std::string unit = overall.metric.is_share() ? "points" : "nats";
  std::string head = heading_cell(fmt::format("{} against", escape(overall.leader()))) +
                     heading_cell("it is") + heading_cell(fmt::format("by, {}<br>95 % interval", unit)),
              rows;
  if (!suite.without.empty()) head += heading_cell("without any one dataset");
  if (suite.tasks_like_these) head += heading_cell("datasets like these");
  head += heading_cell("could see") + heading_cell("would decide it");
  for (const Standing& each : overall.standings) {
    const auto found = std::ranges::find(suite.these_tasks.encodings, each.encoding);
    const size_t e = size_t(found - suite.these_tasks.encodings.begin());
    if (e != leader) rows += leader_row(overall, summary, suite.these_tasks.pair(leader, e));
  }
  return table(head, rows, "pairs");
}

std::string block(const Overall& overall, const Summary& summary) {
  const std::string title =
      fmt::format("{} {}", metric_name(overall.metric), at_place(overall.metric.axis, overall.x));
  return picture_svg(
             {overall.standings, overall.suite->these_tasks, overall.metric, summary.encodings, title}) +
         leader_table(overall, summary) + pair_matrix(overall, summary);
}

// Of differences that are all the same, the effect size has no bound.
std::string effect_cell(double effect) {
  if (!std::isfinite(effect)) return number_cell("–", std::nullopt);
  return number_cell(fmt::format("{:.2f}", effect), effect);
}

std::string papers_own_test(const Summary& summary) {
  std::string rows, head;
  for (const char* title : {"dataset", "length", "against", "difference", "Holm p", "effect d<sub>z</sub>"})
    head += heading_cell(title);
  for (const Dataset& dataset : summary.datasets)
    for (const AtLength& at : dataset.lengths)
      for (const stats::PaperTest& c : at.learned ? at.paper : std::vector<stats::PaperTest>{})
        rows +=
            fmt::format("<tr><th scope='row'>{}</th><td>{}</td><td>{}</td>{}{}{}</tr>", escape(dataset.name),
                        escape(place_name(dataset.metric.axis, at.x)), escape(c.second),
                        number_cell(difference_text(c.test.mean, dataset.metric.is_share()), c.test.mean),
                        number_cell(stats::p_text(c.holm_ln_p), c.holm_ln_p), effect_cell(c.effect));
  if (rows.empty()) return "";
  return fmt::format(
      "<details><summary>The paper's own test</summary><p>{} against each baseline: a paired t-test over "
      "examples "
      "averaged over seeds, Holm over {}. It takes the trained models as given and says nothing about "
      "training "
      "again; no verdict above rests on it.</p>{}</details>",
      escape(summary.reference),
      summary.options.paper_family ? "the paper's four baselines" : "all baselines", table(head, rows));
}

// The leader's name stands out, wherever it first is a word of its own: rope is none in darope or rope-10k.
std::string headline_html(const Overall& overall, const Summary& summary) {
  std::string html = escape(headline(overall, summary));
  const std::string leader = escape(overall.leader());
  if (leader.empty()) return html;
  const auto of_a_name = [&](size_t at) {
    return at < html.size() && std::string_view(" ,.;:'").find(html[at]) == std::string_view::npos;
  };
  for (size_t at = html.find(leader); at != std::string::npos; at = html.find(leader, at + 1)) {
    const size_t end = at + leader.size();
    const bool goes_on = of_a_name(end) || (end + 1 < html.size() && html[end] != ' ' && of_a_name(end + 1));
    if ((at > 0 && of_a_name(at - 1)) || goes_on) continue;
    return html.replace(at, leader.size(), fmt::format("<b>{}</b>", leader));
  }
  return html;
}

std::string length_label(const Overall& overall, const Summary& summary) {
  std::string label = overall.x == 0 ? "test set" : place_name(overall.metric.axis, overall.x);
  for (const Overall& other : summary.overall)
    if (other.x == overall.x && key_of(other.metric) != key_of(overall.metric))
      return label + ", " + metric_name(overall.metric);
  return label;
}

}  // namespace

std::string verdict_section(const Summary& summary, const Gathered&) {
  std::string html = "<dl class='answers'>";
  for (const Overall& overall : summary.overall)
    html += fmt::format("<dt>{}</dt><dd>{}</dd>", escape(length_label(overall, summary)),
                        headline_html(overall, summary));
  html += "</dl>";
  if (const std::string none = no_verdict_in_words(summary); !none.empty())
    html += fmt::format("<p>{}</p>", escape(none));
  for (size_t i = 0; i < summary.lengths.size(); ++i)
    for (const Overall& overall : summary.overall)
      if (overall.x == summary.lengths[i] && overall.suite)
        html += per_length(summary, i, block(overall, summary));
  html += fmt::format("<p>{}</p>", escape(setting_in_words(summary)));
  std::string items;
  for (const std::string& caution : cautions(summary)) items += fmt::format("<li>{}</li>", escape(caution));
  if (!items.empty()) html += fmt::format("<h3>Before this is read</h3><ul class='notes'>{}</ul>", items);
  return html + fmt::format("<p class='fine'>{}</p>", escape(rule_in_words(summary))) +
         papers_own_test(summary);
}

}  // namespace darope::report
