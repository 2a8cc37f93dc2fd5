#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace darope::report {

namespace {

bool is_nought(std::string_view number) {
  return number.find_first_of("123456789") == std::string_view::npos;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else if (c == '\'')
      safe += "&#39;";
    else
      safe += c;
  }
  return safe;
}

std::string printable(std::string_view text) {
  std::string safe(text);
  std::replace_if(safe.begin(), safe.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return safe;
}

std::string plural(size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string and_list(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

std::string metric_name(const Metric& metric) {
  const bool unit = !metric.is_share() && !metric.unit.empty();
  return unit ? fmt::format("{} ({})", metric.title, metric.unit) : metric.title;
}

std::string place_name(const Axis& axis, double x) {
  return x == 0 ? "" : fmt::format("{:g}{}", x, axis.unit);
}

std::string at_place(const Axis& axis, double x) {
  if (x == 0) return "on the test set";
  if (axis.name != kLength.name) return fmt::format("at {} {}", axis.name, place_name(axis, x));
  return x == 1 ? "at the training length" : fmt::format("at {:g}x the training length", x);
}

std::string score_text(double value, bool higher_better) {
  const std::string text = higher_better ? fmt::format("{:.1f}", 100 * value) : fmt::format("{:.4f}", value);
  return text.starts_with('-') && is_nought(text) ? text.substr(1) : text;
}

std::string score_text(const std::optional<double>& value, bool higher_better) {
  return value ? score_text(*value, higher_better) : "–";
}

std::string difference_text(double value, bool share) {
  const std::string text = share ? fmt::format("{:+.1f}", 100 * value) : fmt::format("{:+.4f}", value);
  return is_nought(text) ? text.substr(1) : text;
}

std::string size_text(double value, bool share) {
  return share ? fmt::format("{:.2g}", 100 * std::abs(value)) : fmt::format("{:.2g}", std::abs(value));
}

std::string unit_text(const Metric& metric) {
  if (metric.is_share()) return "points";
  return metric.unit == kNats ? "nats" : metric.unit;
}

std::string count_text(double count) {
  if (count >= 1e9) return fmt::format("{:.3g} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.3g} million", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.0f} thousand", count / 1e3);
  return fmt::format("{:.0f}", count);
}

}  // namespace darope::report
