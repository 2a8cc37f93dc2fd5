#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace darope {

// As it may stand in a shell: names come from files of strangers.
inline std::string shell_word(const std::string& text) {
  const auto harmless = [](unsigned char c) {
    return std::isalnum(c) || std::string_view("_-./:=,").find(char(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), harmless)) return text;
  std::string safe = "'";
  for (const char c : text) safe += c == '\'' ? "'\\''" : std::string(1, c);
  return safe + "'";
}

}  // namespace darope
