#include "report/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/json.h"

namespace darope::report {

std::map<std::string, std::string> settings_of(const std::string& yaml) {
  std::map<std::string, std::string> settings;
  std::vector<std::string> sections;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) {
    const size_t indent = line.find_first_not_of(' '), colon = line.find(": ");
    if (indent == std::string::npos) continue;
    sections.resize(std::min(sections.size(), indent / 2));
    if (line.ends_with(':')) sections.push_back(line.substr(indent, line.size() - indent - 1) + ".");
    if (colon == std::string::npos) continue;
    const Json value = Json::parse(line.substr(colon + 2), nullptr, false);
    settings[fmt::format("{}{}", fmt::join(sections, ""), line.substr(indent, colon - indent))] =
        value.is_string() ? value.get<std::string>() : line.substr(colon + 2);
  }
  return settings;
}

}  // namespace darope::report
