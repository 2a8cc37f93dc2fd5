#include "base/csv.h"

#include <charconv>
#include <string_view>

namespace darope {
namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string csv_cell(const std::string& text) {
  // A spreadsheet takes what begins so for a formula, and runs it; numbers are ours, and stay numbers.
  const bool formula = !text.empty() &&
                       std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos &&
                       !is_number(text);
  if (!formula && text.find_first_of(",;\t\"\r\n") == std::string::npos) return text;
  std::string safe = formula ? "\"'" : "\"";
  for (const char c : text) safe += c == '"' ? "\"\"" : std::string(1, c);
  return safe + '"';
}

}  // namespace darope
