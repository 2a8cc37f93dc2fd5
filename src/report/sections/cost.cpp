#include <fmt/format.h>

#include <set>

#include "report/power.h"
#include "report/sections/sections.h"

namespace darope::report {
namespace {

// How often the reference's share fits: "1.4x".
std::string times(double value, double reference) {
  return reference > 0 ? fmt::format(" <small>{:.2f}x</small>", value / reference) : "";
}

std::string thousands(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ' ');
  return digits;
}

// Times of different machines cannot stand beside each other.
std::string machines_in_words(const Gathered& all) {
  std::set<std::string> machines;
  for (const Run& run : all.runs) machines.insert(run.machine);
  return machines.size() > 1 ? fmt::format(" <b>The runs come from {} machines, so these times mix them.</b>",
                                           machines.size())
                             : "";
}

}  // namespace

std::string cost_section(const Summary& summary, const Gathered& all) {
  const Cost& reference = summary.costs[index_of(summary, summary.reference)];
  std::string rows;
  for (size_t e = 0; e < summary.encodings.size(); ++e) {
    const Cost& c = summary.costs[e];
    if (!c.weights_of.empty()) {
      rows += fmt::format("<tr {}>{}{}<td colspan='3'>not trained: it scores the weights of {}</td></tr>",
                          of_encoding(e), encoding_cell(summary, e),
                          number_cell(thousands(c.parameters), c.parameters), escape(c.weights_of));
      continue;
    }
    rows += fmt::format(
        "<tr {}>{}{}{}{}{}</tr>", of_encoding(e), encoding_cell(summary, e),
        number_cell(thousands(c.parameters), c.parameters),
        number_cell(time_text(c.seconds) + times(c.seconds, reference.seconds), c.seconds),
        number_cell(thousands(c.tokens_per_second) + times(c.tokens_per_second, reference.tokens_per_second),
                    c.tokens_per_second),
        number_cell(fmt::format("{:.0f} MiB", double(c.peak_memory_bytes) / (1 << 20)),
                    double(c.peak_memory_bytes)));
  }
  std::string head;
  for (const char* title : {"encoding", "parameters", "time a run", "tokens/s", "peak memory"})
    head += heading_cell(title);
  return fmt::format(
      "<p>Means over finished runs, as long as they took beside whatever else the machine did, other runs of "
      "this comparison included; memory is the most any run took. Small figures: times what {} takes. "
      "Nothing "
      "is said here about other sizes or machines: <code>darope bench</code> times encodings alone.{}</p>{}",
      escape(summary.reference), machines_in_words(all), table(head, rows));
}

}  // namespace darope::report
