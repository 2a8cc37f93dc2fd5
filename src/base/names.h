#pragma once
#include <algorithm>
#include <cctype>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace darope {

inline bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Letters to put in, leave out, change, or swap with their neighbour, whatever their case: what a typo costs.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) { return same_letter(a[i], b[j]); };
  std::vector<size_t> before, last(b.size() + 1), row = last;
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);
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

inline bool begins_with(std::string_view name, std::string_view typed) {
  return name.size() >= typed.size() && std::equal(typed.begin(), typed.end(), name.begin(), same_letter);
}

// Whether a word is that name's beginning, or the name with slips: at most about one in three letters.
inline bool is_near(std::string_view typed, std::string_view name) {
  return !typed.empty() && (begins_with(name, typed) ||
                            edit_distance(typed, name) <= (std::max(typed.size(), name.size()) + 1) / 3);
}

// Of `known`, which is not empty: a name that begins so, or else the one that a typo is nearest to.
inline const std::string& nearest_name(std::string_view typed, const std::vector<std::string>& known) {
  const auto far = [&](const std::string& name) {
    return begins_with(name, typed) ? 0 : 1 + edit_distance(typed, name);
  };
  return *std::min_element(known.begin(), known.end(),
                           [&](const std::string& a, const std::string& b) { return far(a) < far(b); });
}

// "unknown encoding 'ropee'; did you mean 'rope'? Known: nope, rope, ...", without the guess where no name is
// near.
inline std::string unknown_name(std::string_view kind, std::string_view name,
                                const std::vector<std::string>& known) {
  std::string text = "unknown " + std::string(kind) + " " + shown(name);
  if (known.empty()) return text + "; it takes none";
  const std::string_view typed = name.substr(0, 60);
  const std::string& nearest = nearest_name(typed, known);
  text += is_near(typed, nearest) ? "; did you mean '" + nearest + "'? Known:" : ". Known:";
  for (const std::string& each : known) text += (&each == &known.front() ? " " : ", ") + each;
  return text;
}

}  // namespace darope
