#pragma once
#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace darope {

// Levenshtein distance, case-insensitive: what a typo costs.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row.back();
}

// What a user typed, fit for a message: printable, and not longer than it helps.
inline std::string shown(std::string_view text) {
  std::string result(text.substr(0, 60));
  for (char& c : result)
    if (std::iscntrl(static_cast<unsigned char>(c))) c = '?';
  return "'" + result + (text.size() > 60 ? "...'" : "'");
}

// Whether a word is that name's beginning, or the name with slips: at most about one in three letters.
inline bool is_near(std::string_view typed, std::string_view name) {
  return !typed.empty() && (name.starts_with(typed) ||
                            edit_distance(typed, name) <= (std::max(typed.size(), name.size()) + 1) / 3);
}

// "unknown encoding 'ropee'; did you mean 'rope'? Known: nope, rope, ...", without the guess where no name is
// near.
inline std::string unknown_name(std::string_view kind, std::string_view name,
                                const std::vector<std::string>& known) {
  std::string text = "unknown " + std::string(kind) + " " + shown(name);
  if (known.empty()) return text + "; it takes none";
  const std::string_view typed = name.substr(0, 60);
  const auto far = [&](const std::string& candidate) {
    return candidate.starts_with(typed) ? 0 : 1 + edit_distance(typed, candidate);
  };  // a beginning is meant
  const std::string& nearest =
      *std::min_element(known.begin(), known.end(),
                        [&](const std::string& a, const std::string& b) { return far(a) < far(b); });
  text += is_near(typed, nearest) ? "; did you mean '" + nearest + "'? Known:" : ". Known:";
  for (const std::string& each : known) text += (&each == &known.front() ? " " : ", ") + each;
  return text;
}

}  // namespace darope
