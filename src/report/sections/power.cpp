#include "report/power.h"

#include <fmt/format.h>

#include "report/sections/sections.h"

namespace darope::report {

std::string power_section(const Summary& summary, const Gathered& all) {
  std::string rows, head;
  for (const char* title : {"dataset", "length", "seeds", "could see", "half the margin takes",
                            "the margin takes", "twice the margin takes"})
    head += heading_cell(title);
  const std::vector<Power> found = powers(all, summary);
  for (const Power& row : found) {
    const bool share = row.metric.is_share();
    rows += fmt::format(
        "<tr><th scope='row'>{}</th><td>{}</td>{}{}", row.of.empty() ? "all datasets" : escape(row.of),
        escape(place_name(row.metric.axis, row.x)), number_cell(fmt::to_string(row.seeds), double(row.seeds)),
        number_cell(
            fmt::format("{} to {}", size_text(row.least_seen, share), size_text(row.most_seen, share)),
            row.most_seen));
    for (const Power::For& what : row.differences)
      rows += number_cell(
          fmt::format("<small>{} {}</small>{}<small>{}</small>", size_text(what.difference, share),
                      escape(unit_text(row.metric)), in_words(what), reach_in_words(what)),
          double(what.seeds));
    rows += "</tr>";
  }
  if (rows.empty()) return "";
  return "<p>True differences that the present runs call better with 80 % power, from the steadiest pair to "
         "the least steady one; and the seeds in all, with the time of the further runs one after another, "
         "at "
         "which the pairs that are not told apart yet would show smaller ones. " +
         escape(out_of_reach_in_words(found)) + "</p>" + table(head, rows, "pairs");
}

}  // namespace darope::report
