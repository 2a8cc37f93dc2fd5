#include "report/paper.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "assets.h"
#include "report/gather.h"

namespace darope::report {
namespace {

std::vector<std::string> options_of(const std::string& encoding) {
  std::vector<std::string> options;
  const size_t colon = encoding.find(':');
  std::istringstream text(colon == std::string::npos ? "" : encoding.substr(colon + 1));
  for (std::string option; std::getline(text, option, ',');) options.push_back(option);
  return options;
}

// "base=1e4" is "base=10000".
bool same_option(const std::string& a, const std::string& b) {
  const size_t value = a.find('=') + 1;
  if (a == b || value == 0 || b.compare(0, value, a, 0, value) != 0) return a == b;
  char* end = nullptr;
  const double number = std::strtod(a.c_str() + value, &end);
  return *end == '\0' && number == std::strtod(b.c_str() + value, nullptr);
}

}  // namespace

const Json& paper() {
  static const Json facts = parse_json(assets::paper_json, "paper.json");
  return facts;
}

bool is_variant(const std::string& encoding, const std::string& meant) {
  if (without_options(encoding) != without_options(meant)) return false;
  const std::vector<std::string> own = options_of(encoding), asked = options_of(meant);
  return std::ranges::all_of(asked, [&](const std::string& each) {
    return std::ranges::any_of(own, [&](const std::string& option) { return same_option(each, option); });
  });
}

}  // namespace darope::report
