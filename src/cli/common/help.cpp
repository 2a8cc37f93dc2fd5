#include "cli/common/help.h"

#include <sstream>

namespace darope {
namespace {

// Where the description begins: behind the first gap of two spaces, or at the first word.
size_t description_of(const std::string& line) {
  const size_t word = line.find_first_not_of(' ');
  const size_t gap = line.find("  ", word);
  const size_t behind = gap == std::string::npos ? gap : line.find_first_not_of(' ', gap);
  return behind == std::string::npos || behind >= kHelpWidth / 2 ? word : behind;
}

}  // namespace

std::string wrapped(const std::string& text, size_t width) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line); out += line + "\n") {
    const size_t indent = line.size() > width ? description_of(line) : 0;
    while (line.size() > width) {
      size_t end = line.rfind(' ', width);
      if (end == std::string::npos || end <= indent)
        end = line.find(' ', width);  // a word that long stays whole
      if (end == std::string::npos) break;
      out += line.substr(0, end) + "\n";
      line = std::string(indent, ' ') + line.substr(end + 1);
    }
  }
  return out;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  const std::string type = option->get_type_name();
  std::string out = type.empty() ? "" : " " + type.substr(0, type.find(':'));  // INT:NONNEGATIVE is an INT
  if (!option->get_default_str().empty()) out += "=" + option->get_default_str();
  if (option->get_expected_max() == CLI::detail::expected_max_vector_size) out += " ...";
  if (option->get_required()) out += " REQUIRED";
  return out;
}

}  // namespace darope
