#include <fmt/format.h>

#include <algorithm>

#include "report/sections/sections.h"
#include "report/style.h"

namespace darope::report {
std::string table(const std::string& head, const std::string& rows, const std::string& classes,
                  const std::string& attributes) {
  return fmt::format(
      "<div class='scroll'><table class='sortable {}' "
      "{}><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>",
      classes, attributes, head, rows);
}

std::string chart(const std::string& kind, size_t index, const std::string& text) {
  return fmt::format(
      "<figure><figcaption>{0}</figcaption><div class='canvas'>"
      "<canvas data-chart='{1}' data-index='{2}' role='img' aria-label='{1} on {0}'></canvas></div></figure>",
      escape(text), kind, index);
}

std::string heading_cell(const std::string& html, const std::string& attributes) {
  return fmt::format("<th scope='col' {}><button type='button'>{}</button></th>", attributes, html);
}

std::string number_cell(const std::string& html, const std::optional<double>& sort_by,
                        const std::string& attributes) {
  return fmt::format("<td data-v='{}' {}>{}</td>", sort_by ? fmt::format("{:.8g}", *sort_by) : "", attributes,
                     html);
}

std::string encoding_cell(const Summary& summary, size_t encoding) {
  const std::string& name = summary.encodings[encoding];
  return fmt::format(
      "<th scope='row' data-v='{0}'>{1}{0}{2}</th>", escape(name), swatch(name),
      name == summary.reference
          ? "<small title='what the others are held against where only one can be: signs, times, the "
            "paper&#39;s test'> reference</small>"
          : "");
}

std::string per_length(const Summary& summary, size_t length, const std::string& html) {
  const double x = summary.lengths[length];
  const std::string caption = summary.lengths.size() == 1 ? ""
                                                          : fmt::format("<p class='caption'>{}: {}</p>",
                                                                        escape(place_name(summary.axis(), x)),
                                                                        escape(at_place(summary.axis(), x)));
  return fmt::format("<div class='block' data-x='{}'>{}{}</div>", length, caption, html);
}

std::string of_encoding(size_t encoding) { return fmt::format("data-e='{}'", encoding); }

size_t index_of(const Summary& summary, const std::string& encoding) {
  return size_t(std::find(summary.encodings.begin(), summary.encodings.end(), encoding) -
                summary.encodings.begin());
}

const char* sign_of(stats::Verdict verdict) {
  if (stats::is_better(verdict)) return "▲";
  if (stats::is_worse(verdict)) return "▼";
  return verdict == stats::Verdict::tied ? "=" : "?";
}

std::string verdict_badge(stats::Verdict verdict) {
  const char* kind = stats::is_better(verdict)         ? "better"
                     : stats::is_worse(verdict)        ? "worse"
                     : verdict == stats::Verdict::tied ? "tied"
                                                       : "undecided";
  return fmt::format("<span class='badge {}'>{} {}</span>", kind, sign_of(verdict), stats::name_of(verdict));
}

std::string sign_against(const std::string& reference, const AtLength& at, const std::string& encoding) {
  const auto pair = at.learned ? at.pair(encoding, reference) : std::nullopt;
  return pair && pair->seeds > 0 ? sign_of(pair->verdict) : "";
}

std::string with_spread(const std::optional<double>& mean, const std::optional<double>& spread,
                        bool higher_better) {
  return score_text(mean, higher_better) +
         (mean && spread ? fmt::format(" <small>± {}</small>", score_text(*spread, higher_better)) : "");
}

}  // namespace darope::report
